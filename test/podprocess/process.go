package podprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tandem-rl/tandem/test/podclient"
)

// Process is a program that was started in a [Pod].
type Process struct {
	Name string // for people
	cmd  *exec.Cmd
	url  string
	log  output
	done chan struct{}
}

// output is what a process prints.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// Start starts the pod's program, which serves HTTP on the address that is added to args as --listen. It is killed when
// ctx ends.
func (p *Pod) Start(ctx context.Context, name string, args ...string) (*Process, error) {
	address, err := ownAddress()
	if err != nil {
		return nil, err
	}
	o := &Process{Name: name, url: "http://" + address, done: make(chan struct{})}
	o.cmd = exec.CommandContext(ctx, p.program, append(append([]string{}, args...), "--listen="+address)...)
	o.cmd.Dir, o.cmd.Env = "/", append(append([]string{}, p.env...), "POD_NAME="+name)
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root}
	o.cmd.Stdout, o.cmd.Stderr = &o.log, &o.log
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		defer close(o.done)
		_ = o.cmd.Wait() // Code tells
	}()
	return o, nil
}

// Ready waits until /readyz answers 200: a sidecar that sees all that it watches.
func (o *Process) Ready(ctx context.Context) error {
	var last error
	err := podclient.Until(ctx, func() bool {
		last = o.ask(ctx, "/readyz")
		return last == nil || o.Ended()
	})
	if err == nil && last == nil {
		return nil
	}
	return fmt.Errorf("%s is not ready: %w\n%s", o.Name, errors.Join(err, last), o.Log())
}

// Unready waits until /readyz answers anything but 200.
func (o *Process) Unready(ctx context.Context) error {
	err := podclient.Until(ctx, func() bool { return o.ask(ctx, "/readyz") != nil })
	if err != nil || !o.Ended() {
		return err
	}
	return fmt.Errorf("%s has ended with code %d\n%s", o.Name, o.Code(), o.Log())
}

// asking is bounded: a client without a limit would wait for a process that hangs.
var asking = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (o *Process) ask(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url+path, nil)
	if err != nil {
		return err
	}
	resp, err := asking.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// PID is the process' number.
func (o *Process) PID() int { return o.cmd.Process.Pid }

// Log is what the process has printed.
func (o *Process) Log() string { return o.log.String() }

// Says tells whether the log holds text.
func (o *Process) Says(text string) bool { return strings.Contains(o.Log(), text) }

// Signal sends a signal; a process that has ended is left alone.
func (o *Process) Signal(s syscall.Signal) {
	_ = o.cmd.Process.Signal(s) // os.ErrProcessDone
}

// Done is closed when the process has ended.
func (o *Process) Done() <-chan struct{} { return o.done }

// Ended tells whether the process has ended.
func (o *Process) Ended() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// Code waits for the process and is its exit code; -1 after a signal.
func (o *Process) Code() int {
	<-o.done
	return o.cmd.ProcessState.ExitCode()
}

// addresses counts those that were given out: all of 127.0.0.0/8 is loopback, and the programs of one machine begin
// anywhere.
var addresses atomic.Uint32

func init() { addresses.Store(rand.Uint32N(1 << 22)) }

// ownAddress is one on loopback that no other process has.
func ownAddress() (string, error) {
	for range 100 {
		n := addresses.Add(1)
		ip := net.IPv4(127, byte(64+n>>16&63), byte(n>>8), byte(1+n%250))
		listener, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "9441"))
		if err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", errors.New("no free address on loopback")
}
