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
	// ErrForbidden says that the role lacks a rule; the error's text names it.
	ErrForbidden = errors.New("forbidden")
	// ErrFull says that the write does not fit into the ConfigMap.
	ErrFull = errors.New("registry full")
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

// translate turns an API error into one of this package. verb is the RBAC verb that the request needs.
func (s *Store) translate(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case kubeclient.IsObjectNotFound(err, s.Name()):
		return fmt.Errorf("%s: %w: `tandem up` creates it", s, ErrNotFound)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w: the role needs verb %q on configmaps with resourceNames [%s]: %w",
			s, ErrForbidden, verb, s.Name(), err)
	case tooLarge(err):
		return fmt.Errorf("%s: %w: %w", s, ErrFull, err)
	default:
		return fmt.Errorf("%s: %s: %w", s, verb, err)
	}
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
	for _, final := range []error{ErrNotFound, ErrForbidden, ErrFull, ErrBadValue, ErrFailed} {
		if errors.Is(err, final) {
			return false
		}
	}
	return apierrors.IsConflict(err) || kubeclient.Retryable(err)
}
