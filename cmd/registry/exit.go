package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/tandem-rl/tandem/registry"
)

// Exit codes; docs/registry.md has them as a table. exec passes on the code of its command, and 128 + the number of
// the signal that ended it.
const (
	exitOK         = 0
	exitFailed     = 1   // any other error
	exitUsage      = 2   // a mistake on the command line
	exitDeadline   = 3   // what was waited for did not come in time
	exitRunFailed  = 4   // the run has failed; the message is the peer's
	exitNotFound   = 5   // no such key, or no registry
	exitNotRunning = 126 // exec: the command cannot be run
	exitNoCommand  = 127 // exec: there is no such command
	exitSignal     = 128 // exec: plus the signal
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// childError is the end of exec's command.
type childError struct{ code int }

func (e childError) Error() string { return fmt.Sprintf("the command ended with code %d", e.code) }

func exitCode(err error) int {
	var mistake usageError
	var child childError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &child):
		return child.code
	case errors.As(err, &mistake):
		return exitUsage
	case errors.Is(err, registry.ErrFailed):
		return exitRunFailed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errTimedOut):
		return exitDeadline
	case errors.Is(err, registry.ErrNotFound):
		return exitNotFound
	default:
		return exitFailed
	}
}
