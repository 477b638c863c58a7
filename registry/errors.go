package registry

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// What a caller may branch on, by errors.Is. When ctx ended an error answers to ctx's error as well as to its cause.
var (
	// ErrNotFound says that the key, or the whole ConfigMap, is not there.
	ErrNotFound = errors.New("not found")
	// ErrFailed says that the run has failed; the error's text carries the message, as does [FailedError].
	ErrFailed = errors.New("run failed")
	// ErrForbidden says that the role lacks a rule; [ForbiddenError] names it. An API server that has just started refuses
	// what it allows a moment later, so a refusal after trouble with it is final only when it lasts ten seconds.
	ErrForbidden = errors.New("forbidden")
	// ErrFull says that the write does not fit into the ConfigMap; [FullError] tells how many bytes are left.
	ErrFull = errors.New("registry full")
	// ErrConflict says that other writers were faster until ctx ended; nothing else ends the tries.
	ErrConflict = errors.New("conflict")
	// ErrStale says that the writer belongs to an incarnation of the run that is not the current one.
	ErrStale = errors.New("stale incarnation")
	// ErrBadKey says that a key is not one that a ConfigMap can hold.
	ErrBadKey = errors.New("bad key")
	// ErrBadValue says that a value is not what the key holds.
	ErrBadValue = errors.New("bad value")
)

// FailedError is the failure of the run, as the first to see it reported it.
type FailedError struct{ Message string }

func (e *FailedError) Error() string { return ErrFailed.Error() + ": " + e.Message }

// Is makes errors.Is(err, ErrFailed) true.
func (e *FailedError) Is(target error) bool { return target == ErrFailed }

// FullError tells how much room is left.
type FullError struct {
	// Part is what is full: "data" or "annotations".
	Part string
	// Left is the number of bytes that still fit, Needs what the write takes.
	Left, Needs int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%s: %s: %d bytes are left, %d are needed", ErrFull, e.Part, e.Left, e.Needs)
}

// Is makes errors.Is(err, ErrFull) true.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// ForbiddenError names the rule that the role lacks.
type ForbiddenError struct {
	Verb, ConfigMap string
	cause           error
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%s: the role needs verb %q on configmaps with resourceNames [%s]: %s", ErrForbidden, e.Verb, e.ConfigMap, e.cause)
}

// Is makes errors.Is(err, ErrForbidden) true.
func (e *ForbiddenError) Is(target error) bool { return target == ErrForbidden }

func (e *ForbiddenError) Unwrap() error { return e.cause }

// translate turns an API error about a ConfigMap into one of this package. verb is the RBAC verb that the request needs.
func (s *Store) translate(verb, object string, err error) error {
	switch {
	case err == nil:
		return nil
	case kubeclient.IsObjectNotFound(err, object):
		return s.missing(object)
	case apierrors.IsForbidden(err):
		err = &ForbiddenError{verb, object, err}
	case apierrors.IsConflict(err):
		err = fmt.Errorf("%w: %w", ErrConflict, err)
	case tooLarge(err):
		err = fmt.Errorf("%w: %w", ErrFull, err)
	default:
		err = fmt.Errorf("%s: %w", verb, err)
	}
	return fmt.Errorf("%s: %w", s.cfg.describe(object), err)
}

func (s *Store) missing(object string) error {
	return fmt.Errorf("%s: %w: `tandem up` creates it", s.cfg.describe(object), ErrNotFound)
}

func tooLarge(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == "FieldValueTooLong" {
			return true
		}
	}
	return false
}

// retryable tells whether a translated error is worth another try: another writer was faster, or the server was not
// reached, busy or broken.
func retryable(err error) bool {
	for _, final := range []error{ErrNotFound, ErrForbidden, ErrFull, ErrBadValue, ErrFailed, ErrStale} {
		if errors.Is(err, final) {
			return false
		}
	}
	return errors.Is(err, ErrConflict) || kubeclient.Retryable(err)
}
