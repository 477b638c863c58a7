// Package child runs the programs of this machine that a command needs (kubectl, ctr, iptables, go).
//
// None of them outlives the command: each is interrupted when the context ends, killed when it does not heed that,
// and on Linux interrupted by the kernel when this process is killed.
package child

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// grace is how long a child may take to end after it was interrupted. The go command removes its files in that time.
const grace = 10 * time.Second

// Command is [exec.CommandContext] for a child as the package describes it.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	bind(cmd)
	return cmd
}
