// Package localcluster starts and stops a local cluster for a test or a demo, by the program tandem-local: the
// module of that program is not imported, so that the product's own module stays small.
package localcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gpus is what the example runs ask for together, and some.
const gpus = 8

// Cluster is a local cluster with the images of bin/images loaded.
type Cluster struct {
	Kubeconfig string
	Kubectl    string   // path of the kubectl of its version
	Env        []string // of programs that use it: the environment, with KUBECONFIG

	program string
	name    string
	out     io.Writer
}

// Dropped is how many packets for the cluster's addresses were kept on the machine; see `tandem-local status`.
type Dropped struct {
	Host   int `json:"host"`
	Inside int `json:"inside"`
}

// Start starts the cluster called name from the programs in bin, and loads the images from there. Progress goes to out.
// flags are more flags of `tandem-local up`, such as --fsync.
func Start(ctx context.Context, bin, name string, out io.Writer, flags ...string) (*Cluster, error) {
	c := &Cluster{program: filepath.Join(bin, "tandem-local"), name: name, out: out}
	if _, err := c.run(ctx, append([]string{"up", fmt.Sprintf("--gpus=%d", gpus)}, flags...)...); err != nil {
		return nil, err
	}
	if err := c.setUp(ctx, bin); err != nil {
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// StartNew is Start for who needs the cluster for themselves: it refuses one that is up already, whoever started it.
func StartNew(ctx context.Context, bin, name string, out io.Writer, flags ...string) (*Cluster, error) {
	c := &Cluster{program: filepath.Join(bin, "tandem-local"), name: name, out: io.Discard}
	if _, err := c.run(ctx, "status"); err == nil {
		return nil, fmt.Errorf("cluster %s is up already, and may be somebody else's: wait until it is gone, or remove it with tandem-local down --name=%s", name, name)
	}
	return Start(ctx, bin, name, out, flags...)
}

func (c *Cluster) setUp(ctx context.Context, bin string) error {
	assets, err := c.run(ctx, "assets")
	if err != nil {
		return err
	}
	kubeconfig, err := c.run(ctx, "kubeconfig")
	if err != nil {
		return err
	}
	c.Kubectl = filepath.Join(strings.TrimSpace(assets), "kubectl")
	c.Kubeconfig = strings.TrimSpace(kubeconfig)
	c.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	images, err := filepath.Glob(filepath.Join(bin, "images", "*.tar"))
	if err != nil {
		return err
	}
	_, err = c.run(ctx, append([]string{"load"}, images...)...)
	return err
}

// Dropped reads the counters of the rules that keep packets on the machine.
func (c *Cluster) Dropped(ctx context.Context) (Dropped, error) {
	var status struct {
		Dropped Dropped `json:"dropped"`
	}
	out, err := c.run(ctx, "status", "--output=json")
	if err != nil {
		return status.Dropped, err
	}
	err = json.Unmarshal([]byte(out), &status)
	return status.Dropped, err
}

// KillProcess ends one process of the cluster, such as kube-apiserver, with SIGKILL.
func (c *Cluster) KillProcess(ctx context.Context, process string) error {
	_, err := c.run(ctx, "stop", process, "--kill")
	return err
}

// StopProcess ends one process of the cluster with SIGTERM, and waits until it has ended.
func (c *Cluster) StopProcess(ctx context.Context, process string) error {
	_, err := c.run(ctx, "stop", process)
	return err
}

// StartProcess starts a process that has ended once more, and waits until it is ready.
func (c *Cluster) StartProcess(ctx context.Context, process string) error {
	_, err := c.run(ctx, "start", process)
	return err
}

// Stop removes the cluster.
func (c *Cluster) Stop(ctx context.Context) error {
	_, err := c.run(ctx, "down")
	return err
}

func (c *Cluster) run(ctx context.Context, args ...string) (string, error) {
	args = append(args, "--name="+c.name)
	cmd := exec.CommandContext(ctx, c.program, args...)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, c.out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w", c.program, strings.Join(args, " "), err)
	}
	return stdout.String(), nil
}
