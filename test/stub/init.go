package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// asInit is the stub as process 1 of a container: it runs itself once more as a child, hands signals on, reaps what
// is orphaned, and ends as the child did. The kernel shields process 1 from a kill -9 inside its container; the child
// it does not, so a test may kill a server with `kill -9 $(pidof gym-server)`.
func asInit() int {
	child := exec.Command(selfPath(), os.Args[1:]...)
	child.Args[0] = os.Args[0]
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := child.Start(); err != nil {
		return complain("stub: %v", err)
	}
	go func() {
		for s := range signals {
			_ = child.Process.Signal(s) // it has just ended; reap tells
		}
	}()
	return reap(child.Process.Pid)
}

// selfPath keeps the name that the stub was called by, which pidof looks for.
func selfPath() string {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		return path
	}
	return "/proc/self/exe"
}

// reap collects ended children until the given one, and returns that one's exit code.
func reap(pid int) int {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return complain("stub: wait: %v", err)
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal())
		case ended == pid:
			return status.ExitStatus()
		}
	}
}
