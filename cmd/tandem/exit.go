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
	exitOK          = 0
	exitFailed      = 1   // also: the run failed under `up --wait`, or --timeout was reached
	exitUsage       = 2   // the command line or the Run file is wrong
	exitInterrupted = 130 // Ctrl-C or SIGTERM, as a shell has it
)

// usageError is a mistake in the command line of a command.
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

// interrupted says what a user's signal left, which is no error.
type interrupted struct{ text, hint string }

func (i interrupted) Error() string { return i.text }

// inCommand is an error with the command that it happened in.
type inCommand struct {
	error
	path string
}

func (e inCommand) Unwrap() error { return e.error }

// hinted is an error with a way out.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// fail prints an error with its hint and returns the exit code. The voice: no capitals, no full stops.
func fail(w io.Writer, err error) int {
	if stopped := (interrupted{}); errors.As(err, &stopped) {
		fmt.Fprintln(w, stopped.text)
		if stopped.hint != "" {
			fmt.Fprintf(w, "hint: %s\n", stopped.hint)
		}
		return exitInterrupted
	}
	if already := (said{}); errors.As(err, &already) {
		if already.hint != "" {
			fmt.Fprintf(w, "hint: %s\n", already.hint)
		}
		return exitFailed
	}
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

// otherNamespace is the hint for a run that is not there.
const otherNamespace = "is it in another namespace? -n NAMESPACE; kubectl get configmaps -A -l " + v1alpha1.LabelRun + " lists all runs"

func hintFor(err error) string {
	var (
		with  hinted
		usage usageError
	)
	switch {
	case errors.As(err, &with):
		return with.hint
	case errors.Is(err, launch.ErrNotFound):
		return otherNamespace
	case errors.As(err, &usage):
		command := inCommand{path: "tandem"}
		errors.As(err, &command)
		return command.path + " --help"
	default:
		return hintForUp(err)
	}
}

// hintForUp is the way out of what `up` refuses.
func hintForUp(err error) string {
	var (
		ended    *launch.EndedError
		removing *launch.RemovingError
		other    *launch.OtherShapeError
		changed  *launch.ChangedError
		missing  *launch.MissingKindError
		nowhere  *launch.NoNamespaceError
	)
	switch {
	case errors.As(err, &ended):
		return "remove it first: tandem down " + ended.Name
	case errors.As(err, &removing):
		return "tandem down " + removing.Name + " goes on with it"
	case errors.As(err, &other):
		return "tandem down " + other.Name + ", then up"
	case errors.As(err, &changed):
		return "tandem down " + changed.Name + ", then up"
	case errors.As(err, &missing):
		return "install the controller that brings " + missing.Kind + ", or choose another backend or spec.scheduling.scheduler"
	case errors.As(err, &nowhere):
		return "kubectl create namespace " + nowhere.Namespace
	}
	return ""
}
