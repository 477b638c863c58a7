//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lock takes an exclusive lock on a folder and returns what frees it. The kernel frees it when the process ends. When
// another has it, busy is called once and then it is waited for.
func lock(ctx context.Context, dir string, busy func()) (func(), error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; ; tries++ {
		file, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && same(file, dir) {
			return func() { file.Close() }, nil
		}
		file.Close()
		if err != nil && err != syscall.EWOULDBLOCK {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		if err != nil && tries == 0 {
			busy()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("another process holds the lock on %s: %w", dir, ctx.Err())
		}
	}
}

// same tells whether dir is still the folder that was opened: whoever held the lock may have removed it.
func same(file *os.File, dir string) bool {
	a, errA := file.Stat()
	b, errB := os.Stat(dir)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
