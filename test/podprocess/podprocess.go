// Package podprocess runs a program of this repository on this machine as it runs in a pod: in a root of its own that
// holds nothing but the program and the mounted ServiceAccount token, with the environment that the kubelet sets. So the
// program's own in-cluster configuration is used, and a token is rotated as the kubelet does it. It needs root, and
// programs that are linked statically.
package podprocess

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// Image is a folder with a program, which pods share.
type Image struct {
	dir, name string
}

// NewImage copies a program into dir.
func NewImage(dir, program string) (Image, error) {
	i := Image{dir: dir, name: filepath.Base(program)}
	from, err := os.Open(program)
	if err != nil {
		return i, err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, i.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return i, err
	}
	if _, err := io.Copy(to, from); err != nil {
		_ = to.Close() // the copy's error counts
		return i, err
	}
	return i, to.Close()
}

// tokenDir is where every pod finds its token.
const tokenDir = "var/run/secrets/kubernetes.io/serviceaccount"

// Pod is the root of one program.
type Pod struct {
	root, program string
	env           []string
}

// NewPod makes a root for one pod, whose account has token. api says where the API server is and whom to trust, no more.
func (i Image) NewPod(api *rest.Config, namespace, token string) (*Pod, error) {
	root, err := os.MkdirTemp(i.dir, "pod-")
	if err != nil {
		return nil, err
	}
	p := &Pod{root: root, program: "/" + i.name}
	server, err := url.Parse(api.Host)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(server.Host)
	if err != nil {
		return nil, fmt.Errorf("API server %s: %w", api.Host, err)
	}
	p.env = []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	if err := os.Link(filepath.Join(i.dir, i.name), filepath.Join(root, i.name)); err != nil {
		return nil, err
	}
	ca := api.CAData
	if ca == nil {
		if ca, err = os.ReadFile(api.CAFile); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, tokenDir), 0o755); err != nil {
		return nil, err
	}
	if err := p.write("ca.crt", ca); err != nil {
		return nil, err
	}
	if err := p.write("namespace", []byte(namespace)); err != nil {
		return nil, err
	}
	return p, p.Rotate(token)
}

func (p *Pod) write(file string, data []byte) error {
	return os.WriteFile(filepath.Join(p.root, tokenDir, file), data, 0o600)
}

// Rotate replaces the token in one step, as the kubelet does.
func (p *Pod) Rotate(token string) error {
	if err := p.write("token.new", []byte(token)); err != nil {
		return err
	}
	return os.Rename(filepath.Join(p.root, tokenDir, "token.new"), filepath.Join(p.root, tokenDir, "token"))
}
