package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec describes a process to run.
type Spec struct {
	// Name is unique among the supervisor's processes.
	Name string `json:"name"`
	// Args is the command line; Args[0] is an absolute path.
	Args []string `json:"args"`
	// Env is added to the supervisor's own environment.
	Env []string `json:"env,omitempty"`
	// Log is the file that stdout and stderr are appended to.
	Log string `json:"log"`
	// Ready, when set, is what [Client.Start] waits for: an http, https (certificate not checked), tcp or unix URL.
	Ready string `json:"ready,omitempty"`
}

// Process is a Spec that was started.
type Process struct {
	Spec
	PID     int       `json:"pid"`
	Running bool      `json:"running"`
	Exit    string    `json:"exit,omitempty"` // how it ended, such as "exit status 1"
	Since   time.Time `json:"since"`          // of the start, or of the end where it is not running
}

// table holds the processes; it is safe for concurrent use.
type table struct {
	mu    sync.Mutex
	procs map[string]*entry
}

type entry struct {
	Process
	cmd  *exec.Cmd
	done chan struct{} // closed by the goroutine that waits for the process
}

func newTable() *table { return &table{procs: map[string]*entry{}} }

// start runs spec; a process of the same name that has ended is replaced.
func (t *table) start(spec Spec) (Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.startLocked(spec)
}

// startAgain runs a process that has ended once more, as it was.
func (t *table) startAgain(name string) (Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.find(name)
	if err != nil {
		return Process{}, err
	}
	return t.startLocked(e.Spec)
}

func (t *table) startLocked(spec Spec) (Process, error) {
	if spec.Name == "" || len(spec.Args) == 0 {
		return Process{}, fmt.Errorf("process %q with arguments %q: want a name and a program", spec.Name, spec.Args)
	}
	if e, ok := t.procs[spec.Name]; ok && e.Running {
		return Process{}, fmt.Errorf("process %s is running already as pid %d", spec.Name, e.PID)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Process{}, fmt.Errorf("log of %s: %w", spec.Name, err)
	}
	defer log.Close() // the child has its own copy
	cmd := exec.Command(spec.Args[0], spec.Args[1:]...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return Process{}, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	e := &entry{
		Process: Process{Spec: spec, PID: cmd.Process.Pid, Running: true, Since: time.Now()},
		cmd:     cmd, done: make(chan struct{}),
	}
	t.procs[spec.Name] = e
	go t.wait(e)
	return e.Process, nil
}

func (t *table) wait(e *entry) {
	err := e.cmd.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Running, e.Since, e.Exit = false, time.Now(), "exit status 0"
	if err != nil {
		e.Exit = err.Error()
	}
	close(e.done)
}

// stop sends sig, waits until the process has ended, and kills it when ctx ends before that.
func (t *table) stop(ctx context.Context, name string, sig syscall.Signal) error {
	e, err := t.signal(name, sig)
	if err != nil {
		return err
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
	}
	if _, err := t.signal(name, syscall.SIGKILL); err != nil {
		return err
	}
	<-e.done
	return fmt.Errorf("process %s did not end on %s in time and was killed", name, sig)
}

func (t *table) signal(name string, sig syscall.Signal) (*entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.find(name)
	if err != nil || !e.Running {
		return e, err
	}
	if err := e.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("signal %s: %w", name, err)
	}
	return e, nil
}

func (t *table) find(name string) (*entry, error) {
	if e, ok := t.procs[name]; ok {
		return e, nil
	}
	return nil, fmt.Errorf("process %q: no such process; there are: %s", name,
		strings.Join(slices.Sorted(maps.Keys(t.procs)), ", "))
}

// list returns the processes by name.
func (t *table) list() []Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Process, 0, len(t.procs))
	for _, e := range t.procs {
		list = append(list, e.Process)
	}
	slices.SortFunc(list, func(a, b Process) int { return strings.Compare(a.Name, b.Name) })
	return list
}
