package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tandem-rl/tandem/registry"
)

var (
	errTimedOut = errors.New("timed out")
	errTooLarge = errors.New("request too large")
	errCrowded  = errors.New("too many requests wait")
	errAway     = errors.New("unavailable")
)

// answers are the codes of the HTTP interface, in the order in which an error is looked up: the first that it is.
var answers = []struct {
	err    error
	status int
	code   string
}{
	{registry.ErrFailed, http.StatusFailedDependency, "failed"},
	{errCrowded, http.StatusTooManyRequests, "too_many_waits"},
	{errTooLarge, http.StatusRequestEntityTooLarge, "too_large"},
	{registry.ErrFull, http.StatusInsufficientStorage, "full"},
	{registry.ErrStale, http.StatusConflict, "stale"},
	{registry.ErrBadKey, http.StatusBadRequest, "bad_key"},
	{registry.ErrBadValue, http.StatusBadRequest, "bad_request"},
	{registry.ErrForbidden, http.StatusForbidden, "forbidden"},
	{errTimedOut, http.StatusGatewayTimeout, "timeout"},
	{context.Canceled, http.StatusServiceUnavailable, "unavailable"}, // the sidecar is ending; whatever was seen last
	{registry.ErrConflict, http.StatusServiceUnavailable, "conflict"},
	{registry.ErrNotFound, http.StatusNotFound, "not_found"},
	{errAway, http.StatusServiceUnavailable, "unavailable"},
}

// classify maps an error to the status and code of the answer.
func classify(err error) (status int, code string) {
	for _, answer := range answers {
		if errors.Is(err, answer.err) {
			return answer.status, answer.code
		}
	}
	return http.StatusServiceUnavailable, "unavailable"
}

// problem is the body of an answer that is not 200, and the data of a watch's last event.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func describe(err error) (status int, body problem) {
	status, code := classify(err)
	return status, problem{code, err.Error()}
}

// asError is the way back, for clients of the interface.
func (p problem) asError() error {
	for _, answer := range answers {
		if answer.code == p.Code && answer.err != context.Canceled {
			return &remoteError{p.Message, answer.err}
		}
	}
	return fmt.Errorf("%s: %s", p.Code, p.Message)
}

// remoteError has the text of the sidecar's error and answers to the same errors.Is.
type remoteError struct {
	message string
	kind    error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.kind }
