package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// reportWithin bounds how long exec tries to report a failure, outlive how long it waits for what the command left
// running on its output.
const (
	reportWithin = 10 * time.Second
	outlive      = 2 * time.Second
)

// execute runs a command as a child in a process group of its own, forwards signals to the group, and ends as the
// command does. A command that fails by itself, not because it was told to stop, is reported as the run's failure.
// One that was told to stop has not done its work: where it ends with 0, the code is the signal's, or a Job would take
// an eviction for success. When the run is over and its pods are deleted, nobody reads the code.
func execute(ctx context.Context, args []string, std streams) error {
	c := newCommand("exec")
	c.flags.SetOutput(std.err)
	serves := c.flags.Bool("until-stopped", false, "the command is a server: if it ends before it is told to stop, the run has failed, with exit code 0 too")
	if err := c.flags.Parse(args); err != nil { // flags after the command belong to it
		return usageOrHelp(err)
	}
	if c.flags.NArg() == 0 {
		return usageError{errors.New("usage: registry exec [flags] -- COMMAND [ARG...]")}
	}
	to, err := c.open()
	if err != nil {
		return err
	}
	child := newChild(c.flags.Args(), std)
	code := child.run()
	switch {
	case code == exitOK && child.told != 0:
		code = exitSignal + int(child.told)
	case code == exitOK && *serves:
		report(ctx, to, child.describe(code)+"; it should serve until it is told to stop")
		code = exitFailed
	case code != exitOK && child.told == 0:
		report(ctx, to, child.describe(code))
	}
	if code == exitOK {
		return nil
	}
	return childError{code}
}

// report outlives ctx: what failed the command may be ending this process too.
func report(ctx context.Context, to endpoints, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportWithin)
	defer cancel()
	if err := to.Fail(ctx, message); err != nil {
		klog.FromContext(ctx).Error(err, "cannot report the failure", "failure", message)
	}
}

// child is a command that runs.
type child struct {
	cmd   *exec.Cmd
	tail  *tail
	told  syscall.Signal // the first that told it to stop
	cause error          // why it could not be started
}

func newChild(args []string, std streams) *child {
	c := &child{cmd: exec.Command(args[0], args[1:]...), tail: &tail{}}
	c.cmd.Stdin, c.cmd.Stdout = std.in, std.out
	c.cmd.Stderr = io.MultiWriter(std.err, c.tail)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.WaitDelay = outlive
	return c
}

// forwarded are the signals that the group gets as well. Those in stopping tell it to end.
var (
	stopping  = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP}
	forwarded = append([]os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}, stopping...)
)

// run returns the exit code, as a shell would.
func (c *child) run() int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := c.cmd.Start(); err != nil {
		c.cause = err
		return cannotRun(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.cmd.Wait() // the state says all
	}()
	for {
		select {
		case <-ended:
			return codeOf(c.cmd.ProcessState)
		case received := <-signals:
			if c.told == 0 && tellsToStop(received) {
				c.told = received.(syscall.Signal)
			}
			_ = syscall.Kill(-c.cmd.Process.Pid, received.(syscall.Signal)) // it may just have ended
		}
	}
}

func tellsToStop(received os.Signal) bool {
	for _, one := range stopping {
		if one == received {
			return true
		}
	}
	return false
}

func cannotRun(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNoCommand
	}
	return exitNotRunning
}

func codeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

// describe is the message of the failure: who, what, and the end of what it said.
func (c *child) describe(code int) string {
	name := strings.Join(c.cmd.Args, " ")
	if len(name) > 200 {
		name = name[:200] + "..."
	}
	message := fmt.Sprintf("%s ended with exit code %d", name, code)
	if c.cause != nil {
		message = fmt.Sprintf("%s: %s", name, c.cause)
	}
	if pod := os.Getenv("POD_NAME"); pod != "" {
		message = pod + ": " + message
	}
	if last := c.tail.lines(); last != "" {
		message += "; last lines of stderr:\n" + last
	}
	return strings.ToValidUTF8(message, "?")
}
