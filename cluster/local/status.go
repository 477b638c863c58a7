//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tandem-rl/tandem/cluster/local/internal/child"
	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// ErrNotUp says that there is no instance of that name, or that it is not running.
var ErrNotUp = errors.New("instance is not up")

// Status is the state of an instance that is up.
type Status struct {
	Config     Config               `json:"config"`
	Kubeconfig string               `json:"kubeconfig"`
	Ready      bool                 `json:"ready"` // the start came to its end, and every process runs
	Processes  []supervisor.Process `json:"processes"`
	Dropped    Dropped              `json:"dropped"`
}

// Inspect returns the state of an instance, or [ErrNotUp].
func Inspect(ctx context.Context, c Config) (*Status, error) {
	c, r, err := running(c)
	if err != nil {
		return nil, err
	}
	processes, err := listProcesses(ctx, c, r)
	if err != nil {
		return nil, err
	}
	ready := r.Ready
	for _, process := range processes {
		ready = ready && process.Running
	}
	dropped, err := countDropped(ctx, c, r)
	if err != nil {
		return nil, err
	}
	return &Status{Config: r.Config, Kubeconfig: c.Kubeconfig(), Ready: ready, Processes: processes, Dropped: dropped}, nil
}

// StopProcess ends one process of an instance with SIGTERM, or with SIGKILL when kill is true, and waits until it has
// ended. The others stay as they are. It is made for tests of what happens then.
func StopProcess(ctx context.Context, c Config, name string, kill bool) error {
	c, _, err := running(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	return supervisor.NewClient(c.dir()).Stop(ctx, name, kill)
}

// StartProcess starts a process that has ended once more, as [Up] did, and waits until it is ready.
func StartProcess(ctx context.Context, c Config, name string) error {
	c, _, err := running(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	return supervisor.NewClient(c.dir()).StartAgain(ctx, name)
}

// answerDeadline is how long the supervisor may take to say what it knows.
const answerDeadline = 10 * time.Second

func listProcesses(ctx context.Context, c Config, r *record) ([]supervisor.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, answerDeadline)
	defer cancel()
	processes, err := supervisor.NewClient(c.dir()).List(ctx)
	return processes, hung(c, r, err)
}

// hung says what to do about a supervisor that does not answer; nil stays nil.
func hung(c Config, r *record, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("instance %s: its supervisor, below process %d, does not answer: %w; see %s, or take the instance down: tandem-local down --name %s",
		c.Name, r.PID, err, c.log("supervisor"), c.Name)
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
	if os.Geteuid() != 0 {
		return c, nil, errNotRoot
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
	cmd := child.Command(ctx, "ctr", "--address", c.containerdSocket(), "--namespace", "k8s.io", "images", "import", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("import image %s: %w: %s", file, err, out)
	}
	return nil
}
