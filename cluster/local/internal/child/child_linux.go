package child

import (
	"os/exec"
	"syscall"
)

// bind lets the kernel end the child with its parent.
// NOTE: "parent" is the thread that forked. The Go runtime ends a thread only when a goroutine that is locked to it
// returns, and nothing here locks one.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT} }
