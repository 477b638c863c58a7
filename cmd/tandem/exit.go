package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/launch"
)

// Exit codes are part of the interface; docs/SETUP.md lists those of every program.
const (
	exitOK     = 0
	exitFailed = 1 // also: the run failed under `up --wait`, or waiting was given up
	exitUsage  = 2 // the command line or the Run file is wrong
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// runFileError is a mistake in the Run file of that name.
type runFileError struct {
	file string
	err  error
}

func (e *runFileError) Error() string {
	invalid := (*v1alpha1.InvalidError)(nil)
	if !errors.As(e.err, &invalid) {
		return fmt.Sprintf("%s: %v", e.file, e.err)
	}
	if len(invalid.Problems) == 1 {
		return fmt.Sprintf("%s: %s", e.file, invalid.Problems[0])
	}
	text := fmt.Sprintf("%s: %d problems", e.file, len(invalid.Problems))
	for _, problem := range invalid.Problems {
		text += "\n  " + problem.String()
	}
	return text
}

func (e *runFileError) Unwrap() error { return e.err }

// hinted is an error with a way out.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// fail prints an error with its hint and returns the exit code. The voice: no capitals, no full stops.
func fail(w io.Writer, err error) int {
	fmt.Fprintf(w, "error: %v\n", err)
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
	usage, file := usageError{}, (*runFileError)(nil)
	if errors.As(err, &usage) || errors.As(err, &file) {
		return exitUsage
	}
	return exitFailed
}

func hintFor(err error) string {
	var (
		with    hinted
		usage   usageError
		ended   *launch.EndedError
		missing *launch.MissingKindError
	)
	switch {
	case errors.As(err, &with):
		return with.hint
	case errors.As(err, &ended):
		return "remove it first: tandem down " + ended.Name
	case errors.As(err, &missing):
		return "install the controller that brings " + missing.Kind + ", or choose the other backend"
	case errors.Is(err, launch.ErrNotFound):
		return "is it in another namespace? -n NAMESPACE; kubectl get configmaps -A -l " + v1alpha1.LabelRun + " lists all runs"
	case errors.As(err, &usage):
		return "tandem --help"
	default:
		return ""
	}
}
