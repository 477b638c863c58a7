package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tandem-rl/tandem/cluster/local/internal/child"
	"github.com/tandem-rl/tandem/cluster/local/internal/step"
)

// binary is a program that the cluster runs, built from a Go module.
type binary struct {
	name    string
	pkg     string
	module  string // folder below Source whose go.mod names the version
	ldflags string
}

const kubernetesVersion = "v1.35.4"

// stamp makes the Kubernetes programs report their version, which `go build` of a module does not.
const stamp = "-X k8s.io/component-base/version.gitVersion=" + kubernetesVersion +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35"

var binaries = []binary{
	{name: "etcd", pkg: "go.etcd.io/etcd/server/v3"},
	{name: "kube-apiserver", pkg: "k8s.io/kubernetes/cmd/kube-apiserver", ldflags: stamp},
	{name: "kube-controller-manager", pkg: "k8s.io/kubernetes/cmd/kube-controller-manager", ldflags: stamp},
	{name: "kube-scheduler", pkg: "k8s.io/kubernetes/cmd/kube-scheduler", ldflags: stamp},
	{name: "kubelet", pkg: "k8s.io/kubernetes/cmd/kubelet", ldflags: stamp},
	{name: "kube-proxy", pkg: "k8s.io/kubernetes/cmd/kube-proxy", ldflags: stamp},
	{name: "kubectl", pkg: "k8s.io/kubernetes/cmd/kubectl", ldflags: stamp},
	{name: "coredns", pkg: "./cmd/coredns"},
	{name: "jobset", pkg: "sigs.k8s.io/jobset"},
	{name: "kuberay", pkg: "github.com/ray-project/kuberay/ray-operator"},
	{name: "pause", pkg: "./cmd/pause"},
	// The newest kwok needs a later Kubernetes line than everything else here, so it has a module of its own.
	{name: "kwok", pkg: "sigs.k8s.io/kwok/cmd/kwok", module: "kwok"},
}

// sourceDir is the folder that this file was compiled from.
func sourceDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// Assets returns the folder that holds the built binaries, whether they are there or not. Its name is made of all
// that they are built from, so a folder is never stale: module versions, Go version, architecture and flags.
func Assets(c Config) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOARCH, binaries)
	for _, file := range []string{"go.sum", "kwok/go.sum", "cmd/coredns/main.go", "cmd/pause/main.go"} {
		data, err := os.ReadFile(filepath.Join(c.Source, file))
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is not the folder of cluster/local: %w; name it with --source", c.Source, err)
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(data), data)
	}
	return filepath.Join(c.Cache, "bin", hex.EncodeToString(hash.Sum(nil))[:16]), nil
}

// Build builds every binary that is not in the cache yet and returns their folder. A first build takes about ten
// minutes on two cores; two builds of one cache wait for each other.
func Build(ctx context.Context, c Config, p *step.Printer) (string, error) {
	dir, err := Assets(c)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, dir, func() { p.Note("waiting for another build of the binaries") })
	if err != nil {
		return "", err
	}
	defer unlock()
	for i, b := range binaries {
		if _, err := os.Stat(filepath.Join(dir, b.name)); err == nil {
			continue
		}
		name := fmt.Sprintf("Building %s (%d of %d)", b.name, i+1, len(binaries))
		if err := p.Do(name, func() error { return b.build(ctx, c, dir) }); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// build compiles to a temporary name first: a build that was interrupted leaves nothing that looks finished.
func (b binary) build(ctx context.Context, c Config, dir string) error {
	tmp := filepath.Join(dir, "."+b.name)
	cmd := child.Command(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w "+b.ldflags, "-o", tmp, b.pkg)
	cmd.Dir = filepath.Join(c.Source, b.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", b.pkg, cmd.Dir, err, out)
	}
	return os.Rename(tmp, filepath.Join(dir, b.name))
}

// moduleDir is where the source of a module that this one requires lies: CRDs and webhooks are taken from there.
func moduleDir(ctx context.Context, source, module string) (string, error) {
	cmd := child.Command(ctx, "go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = source
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("go list -m %s in %s: %w", module, source, err)
	}
	return strings.TrimSpace(string(out)), nil
}
