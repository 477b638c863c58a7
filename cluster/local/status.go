//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// ErrNotUp says that there is no instance of that name, or that it is not running.
var ErrNotUp = errors.New("instance is not up")

// Status is the state of an instance that is up.
type Status struct {
	Config     Config               `json:"config"`
	Kubeconfig string               `json:"kubeconfig"`
	Ready      bool                 `json:"ready"` // the start came to its end
	Processes  []supervisor.Process `json:"processes"`
	Dropped    Dropped              `json:"dropped"`
}

// Inspect returns the state of an instance, or [ErrNotUp].
func Inspect(ctx context.Context, c Config) (*Status, error) {
	c, r, err := running(c)
	if err != nil {
		return nil, err
	}
	processes, err := supervisor.NewClient(c.dir()).List(ctx)
	if err != nil {
		return nil, err
	}
	dropped, err := countDropped(ctx, c, r)
	if err != nil {
		return nil, err
	}
	return &Status{Config: r.Config, Kubeconfig: c.Kubeconfig(), Ready: r.Ready, Processes: processes, Dropped: dropped}, nil
}

// Load imports an image tarball into the instance's containerd.
func Load(ctx context.Context, c Config, file string) error {
	c, _, err := running(c)
	if err != nil {
		return err
	}
	return importImage(ctx, c, file)
}

// running returns the record of an instance that runs, or [ErrNotUp].
func running(c Config) (Config, *record, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return c, nil, err
	}
	r, err := readRecord(c)
	if err != nil {
		return c, nil, err
	}
	if r == nil || !r.alive() {
		return c, nil, fmt.Errorf("%w: %s; start it with: tandem-local up --name %s", ErrNotUp, c.Name, c.Name)
	}
	return c, r, nil
}

func importImage(ctx context.Context, c Config, file string) error {
	cmd := exec.CommandContext(ctx, "ctr", "--address", c.containerdSocket(), "--namespace", "k8s.io", "images", "import", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("import image %s: %w: %s", file, err, out)
	}
	return nil
}
