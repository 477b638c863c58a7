package kubeclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	firstDelay = 20 * time.Millisecond
	maxDelay   = 3 * time.Second
	maxTurn    = 250 * time.Millisecond
)

// Backoff waits between tries: twice as long each time, jittered over the whole span so that pods which started
// together part, never longer than three seconds unless the server asked for it. The zero value is ready.
type Backoff struct {
	delay    time.Duration
	meetings int
}

// Reset starts again with the shortest delay.
func (b *Backoff) Reset() { *b = Backoff{} }

// Wait waits before the try that follows err. It returns ctx's error when ctx ends first.
func (b *Backoff) Wait(ctx context.Context, err error) error {
	b.delay = min(max(2*b.delay, firstDelay), maxDelay)
	delay := b.delay/4 + rand.N(b.delay)
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		delay += time.Duration(seconds) * time.Second
	}
	return sleep(ctx, delay)
}

// maxMeetings bounds how often a window doubles.
const maxMeetings = 3

// WaitTurn waits before the try that follows a conflict, somewhere in a window that starts with how long the lost try
// took and doubles three times. So writers that meet spread over about as long as the server needs for all of them. It
// never waits longer than a quarter of a second: the server is well, and whoever stays away lets newcomers go first.
func (b *Backoff) WaitTurn(ctx context.Context, took time.Duration) error {
	window := min(max(took, time.Millisecond)<<b.meetings, maxTurn)
	b.meetings = min(b.meetings+1, maxMeetings)
	return sleep(ctx, rand.N(window))
}

func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Retryable tells whether the same request may succeed later: the server was not reached, was busy or broken, or did
// not yet know the (rotated) token. A refusal (403, 404, 409, 413, 422) is not retryable.
func Retryable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err != nil
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return code == 0 || code >= http.StatusInternalServerError
	}
}

// IsObjectNotFound tells that the named object does not exist. A 404 without a name is something else: the API server
// does not know the resource (its CRD is missing), which says nothing about the object.
func IsObjectNotFound(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name
}
