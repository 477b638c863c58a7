package launch

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound: nothing of the run is in the namespace.
	ErrNotFound = errors.New("not found")
	// ErrRemoved: the run was removed while it was waited for.
	ErrRemoved = errors.New("removed while it was waited for")
)

// EndedError refuses to bring up a run that has ended: what is left of it would be taken for the new one.
type EndedError struct {
	Name   string
	Phase  Phase
	Reason string
}

func (e *EndedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("run %s has ended (%s)", e.Name, e.Phase)
	}
	return fmt.Sprintf("run %s has ended (%s: %s)", e.Name, e.Phase, e.Reason)
}

// RemovingError refuses to bring up a run whose removal has begun and not finished.
type RemovingError struct{ Name string }

func (e *RemovingError) Error() string { return fmt.Sprintf("run %s is being removed", e.Name) }

// NoNamespaceError: the run's namespace does not exist.
type NoNamespaceError struct{ Namespace string }

func (e *NoNamespaceError) Error() string {
	return fmt.Sprintf("there is no namespace %s", e.Namespace)
}

// MissingKindError: the cluster does not serve a kind that the run is made of.
type MissingKindError struct {
	Kind string
	Err  error
}

func (e *MissingKindError) Error() string {
	return fmt.Sprintf("the cluster knows no %s: %v", e.Kind, e.Err)
}

func (e *MissingKindError) Unwrap() error { return e.Err }
