//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/tandem-rl/tandem/cluster/local/internal/step"
	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// Dropped is how many packets the rules of an instance dropped.
type Dropped struct {
	// Host counts what would have left by the interface of the host's default route.
	Host int `json:"host"`
	// Inside counts what was sent to an address of the instance that nothing there answers for.
	Inside int `json:"inside"`
}

func (d Dropped) String() string { return fmt.Sprintf("%d on the host, %d inside", d.Host, d.Inside) }

// Down removes an instance with all that it made, and returns what its rules had dropped. An instance that does
// not exist is no error.
func Down(ctx context.Context, c Config, out io.Writer) (Dropped, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return Dropped{}, err
	}
	p := step.New(out)
	if _, err := os.Stat(c.dir()); errors.Is(err, fs.ErrNotExist) {
		p.Note("there is no instance %s", c.Name)
		return Dropped{}, nil
	}
	if os.Geteuid() != 0 {
		return Dropped{}, errNotRoot
	}
	if err := foreign(c); err != nil {
		return Dropped{}, err
	}
	unlock, err := lock(ctx, c.dir(), busy(c, p))
	if errors.Is(err, fs.ErrNotExist) {
		p.Note("instance %s was taken down by another", c.Name)
		return Dropped{}, nil
	}
	if err != nil {
		return Dropped{}, err
	}
	defer unlock()
	r, err := readRecord(c)
	if err != nil {
		return Dropped{}, err
	}
	var dropped Dropped
	err = p.Do("Taking down instance "+c.Name, func() error {
		var errCount error
		if dropped, errCount = countDropped(ctx, c, r); errCount != nil {
			errCount = fmt.Errorf("count what was dropped (the instance is removed all the same): %w", errCount)
		}
		return errors.Join(clean(ctx, c, r), errCount)
	})
	return dropped, err
}

// countDropped reads the counters of the rules; those inside only while the instance lives.
func countDropped(ctx context.Context, c Config, r *record) (Dropped, error) {
	ctx, cancel := context.WithTimeout(ctx, answerDeadline)
	defer cancel()
	var d Dropped
	var errHost, errInside error
	if r == nil {
		return d, nil
	}
	if r.Interface != "" {
		d.Host, errHost = c.guard(r.Interface).Dropped(ctx)
	}
	if r.alive() {
		d.Inside, errInside = supervisor.NewClient(c.dir()).Dropped(ctx)
	}
	return d, errors.Join(errHost, errInside)
}

// clean removes whatever there is of an instance. r may be nil: then only folders and cgroups can be there.
func clean(ctx context.Context, c Config, r *record) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	if r != nil && r.alive() {
		if err := kill(ctx, r); err != nil {
			return err
		}
	}
	if err := removeCgroups(ctx, c); err != nil {
		return err
	}
	// The rules go last of all that can send: nothing of the instance runs any more.
	if r != nil && r.Interface != "" {
		if err := c.guard(r.Interface).Remove(ctx); err != nil {
			return err
		}
	}
	if err := removeFolder(c); err != nil {
		return err
	}
	return removeIfEmpty(c.Root)
}

// kill ends the first process of the PID namespace, and with it all the others, and waits until it is gone. The
// kernel removes a namespace's first process only after the last of the others.
func kill(ctx context.Context, r *record) error {
	if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process %d: %w", r.PID, err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for r.alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end: %w", r.PID, ctx.Err())
		}
	}
	return nil
}

// removeIfEmpty removes the folder of all instances with the last of them.
func removeIfEmpty(dir string) error {
	err := os.Remove(dir)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
