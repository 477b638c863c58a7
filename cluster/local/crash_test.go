//go:build linux

package local_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	local "github.com/tandem-rl/tandem/cluster/local"
)

// TestCrashes goes through all the ways in which a start or an instance can be cut off, each on what the one before
// has left.
func TestCrashes(t *testing.T) {
	i := newInstance(t, "crash", "")
	before := takeSnapshot(t, i)

	t.Run("Ctrl-C in the middle of up undoes it", func(t *testing.T) {
		up := i.background(t, "Starting kube-apiserver", "up")
		processes := descendants(t, i.record(t).PID)
		require.NoError(t, up.cmd.Process.Signal(os.Interrupt))
		require.Error(t, up.wait(t))
		require.Contains(t, up.text(), "Taking down what was started ... ok")
		require.Contains(t, up.text(), "error: interrupt signal received: Starting kube-apiserver")
		requireUntouched(t, i, before, processes)
	})
	t.Run("what SIGKILL in the middle of up leaves is removed by down", func(t *testing.T) {
		up := i.background(t, "Applying the CRDs", "up")
		processes := descendants(t, i.record(t).PID)
		eventually(t, time.Minute, func() error { // until it has a child of its own, to see that it is not orphaned
			if list := descendants(t, up.cmd.Process.Pid); len(list) > len(processes)+1 {
				processes = list
				return nil
			}
			return fmt.Errorf("processes of up: %s", descendants(t, up.cmd.Process.Pid))
		})
		require.NoError(t, up.cmd.Process.Kill())
		require.Error(t, up.wait(t))
		_, stderr, err := i.run(t, "up", "--gpus", "-1")
		require.Error(t, err, stderr)
		require.Equal(t, local.Dropped{}, i.down(t))
		requireUntouched(t, i, before, processes)
	})
	for _, step := range []string{"Making folders", "Starting namespaces", "Starting etcd"} {
		t.Run("nothing runs without a record after SIGKILL at: "+step, func(t *testing.T) {
			up := i.background(t, step, "up")
			require.NoError(t, up.cmd.Process.Kill())
			require.Error(t, up.wait(t))
			i.down(t)
			requireUntouched(t, i, before, nil)
		})
	}
	t.Run("of two ups of one name one starts it and the other waits", func(t *testing.T) {
		up := i.background(t, "Applying the CRDs", "up") // left by SIGKILL: both find it
		require.NoError(t, up.cmd.Process.Kill())
		require.Error(t, up.wait(t))
		var both sync.WaitGroup
		talk := make([]string, 2)
		for n := range talk {
			both.Go(func() {
				var err error
				_, talk[n], err = i.run(t, "up")
				if err != nil {
					t.Errorf("up: %v\n%s", err, talk[n])
				}
			})
		}
		both.Wait()
		all := strings.Join(talk, "")
		require.Equal(t, 1, strings.Count(all, "Removing what is left of instance t-crash ... ok"), all)
		require.Equal(t, 1, strings.Count(all, "Starting etcd ... ok"), all)
		require.Equal(t, 1, strings.Count(all, "waiting for another tandem-local that works on instance t-crash"), all)
		require.Equal(t, 1, strings.Count(all, "instance t-crash is up already"), all)
	})
	t.Run("after a crash up starts again on the same port, and a down waits for it", func(t *testing.T) {
		was := i.record(t)
		processes := descendants(t, was.PID)
		require.NoError(t, syscall.Kill(was.PID, syscall.SIGKILL))
		eventually(t, 30*time.Second, func() error { return ended(processes) })
		_, stderr, err := i.run(t, "status")
		require.Error(t, err)
		require.Contains(t, stderr, "instance is not up: t-crash; start it with: tandem-local up --name t-crash")

		up := i.background(t, "Starting etcd", "up", "--api-port", fmt.Sprint(was.Config.APIPort))
		require.Equal(t, was.Config.APIPort, i.record(t).Config.APIPort)
		_, stderr, err = i.run(t, "down")
		require.NoError(t, err, stderr)
		require.Contains(t, stderr, "waiting for another tandem-local that works on instance t-crash")
		require.NoError(t, up.wait(t), up.text())
		require.Contains(t, up.text(), "Waiting for the node ... ok")
		requireUntouched(t, i, before, processes)
	})
	t.Run("down of an instance that does not exist is no error", func(t *testing.T) {
		require.Equal(t, local.Dropped{}, i.down(t))
	})
}

// requireUntouched compares the machine with what it was, and sees that the processes have ended.
func requireUntouched(t *testing.T, i instance, before snapshot, processes []process) {
	t.Helper()
	require.Empty(t, cmp.Diff(before, takeSnapshot(t, i)), "the machine before and after (-before +after)")
	// A child of a killed up ends by itself, in its own time.
	eventually(t, 15*time.Second, func() error { return ended(processes) })
	for _, dir := range glob(t, "/proc/[0-9]*/cmdline") {
		line, err := os.ReadFile(dir)
		if err == nil && bytes.Contains(line, []byte(i.dir()+`"`)) {
			t.Errorf("%s: a process of the instance lives: %q", dir, line)
		}
	}
}

func ended(processes []process) error {
	for _, p := range processes {
		if p.lives() {
			return fmt.Errorf("%s lives", p)
		}
	}
	return nil
}

// background is a run of the CLI that a test interferes with.
type background struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	talk bytes.Buffer
	seen chan struct{} // closed when the step has begun
	step string
	done chan error
}

// background starts the CLI and returns when it has begun a step.
func (i instance) background(t *testing.T, step string, args ...string) *background {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	b := &background{cmd: i.command(ctx, args...), step: step, seen: make(chan struct{}), done: make(chan error, 1)}
	b.cmd.Stdout, b.cmd.Stderr = b, b
	require.NoError(t, b.cmd.Start())
	go func() { b.done <- b.cmd.Wait() }()
	select {
	case <-b.seen:
	case err := <-b.done:
		t.Fatalf("it ended before %q: %v\n%s", step, err, b.text())
	}
	return b
}

func (b *background) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := strings.Contains(b.talk.String(), b.step)
	b.talk.Write(data)
	if !was && strings.Contains(b.talk.String(), b.step) {
		close(b.seen)
	}
	return len(data), nil
}

func (b *background) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.talk.String()
}

func (b *background) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-b.done:
		return err
	case <-time.After(patience):
		t.Fatalf("it does not end:\n%s", b.text())
		return nil
	}
}
