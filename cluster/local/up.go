//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandem-rl/tandem/cluster/local/internal/step"
)

// Cluster is an instance that is up.
type Cluster struct {
	Config     Config
	Kubeconfig string // the administrator's, for programs on the host
	Assets     string // folder of the built binaries: KUBEBUILDER_ASSETS for envtest, kubectl
}

// ErrDiffers says that the instance is up, but not as it was asked for.
var ErrDiffers = errors.New("instance is up, but not as asked for")

// Up starts an instance and returns when its node is Ready and all controllers answer. An instance that is up is
// left as it is, with [ErrDiffers] when that is not what c asks for; what a crash left of one is removed first. On an
// error, what was started is taken down again, and the logs stay readable in the error's text only.
func Up(ctx context.Context, c Config, out io.Writer) (*Cluster, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	if err := Preflight(c); err != nil {
		return nil, err
	}
	p := step.New(out)
	assets, err := Build(ctx, c, p)
	if err != nil {
		return nil, err
	}
	unlock, err := makeAndLock(ctx, c, p)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := readRecord(c)
	if err != nil {
		return nil, err
	}
	if r != nil && r.Ready && r.alive() {
		if err := asked(ctx, c, r); err != nil {
			return nil, err
		}
		p.Note("instance %s is up already", c.Name)
		return &Cluster{Config: r.Config, Kubeconfig: c.Kubeconfig(), Assets: assets}, nil
	}
	if r != nil {
		if err := p.Do("Removing what is left of instance "+c.Name, func() error { return clean(ctx, c, r) }); err != nil {
			return nil, err
		}
		// Its lock went with the folder.
		return Up(ctx, c, out)
	}
	s := &starter{Config: c, assets: assets, steps: p, kubectl: kubectl{path: filepath.Join(assets, "kubectl"), kubeconfig: c.Kubeconfig()}}
	if err := s.start(ctx); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return nil, errors.Join(err, s.undo(context.WithoutCancel(ctx)))
	}
	return &Cluster{Config: s.Config, Kubeconfig: c.Kubeconfig(), Assets: assets}, nil
}

// makeAndLock makes the instance's folder and locks it. Whoever held the lock may have removed the folder.
func makeAndLock(ctx context.Context, c Config, p *step.Printer) (func(), error) {
	for {
		if err := foreign(c); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(c.dir(), 0o755); err != nil {
			return nil, err
		}
		unlock, err := lock(ctx, c.dir(), busy(c, p))
		if !errors.Is(err, fs.ErrNotExist) {
			return unlock, err
		}
	}
}

// busy says what a lock is waited for.
func busy(c Config, p *step.Printer) func() {
	return func() { p.Note("waiting for another tandem-local that works on instance %s", c.Name) }
}

// asked tells in what a running instance is not as c wants it.
func asked(ctx context.Context, c Config, r *record) error {
	var differ []string
	have := r.Config
	for _, f := range []struct {
		flag       string
		have, want any
		matters    bool
	}{
		{"gpus", have.GPUs, c.GPUs, true},
		{"nodes", have.Nodes, c.Nodes, true},
		{"node-gpus", have.NodeGPUs, c.NodeGPUs, c.Nodes > 0},
		{"api-port", have.APIPort, c.APIPort, c.APIPort != 0},
		{"fsync", have.FSync, c.FSync, true},
	} {
		if f.matters && f.have != f.want {
			differ = append(differ, fmt.Sprintf("it has --%s=%v, not %v", f.flag, f.have, f.want))
		}
	}
	processes, err := listProcesses(ctx, c, r)
	if err != nil {
		return err
	}
	for _, process := range processes {
		if !process.Running {
			differ = append(differ, fmt.Sprintf("%s has ended (%s; start it with: tandem-local start %s --name %s)",
				process.Name, process.Exit, process.Name, c.Name))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s: %s; use it as it is (tandem-local kubeconfig --name %s) or take it down first (tandem-local down --name %s)",
		ErrDiffers, c.Name, strings.Join(differ, "; "), c.Name, c.Name)
}
