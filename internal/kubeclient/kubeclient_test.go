package kubeclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetryable(t *testing.T) {
	generic := func(code int) error {
		return apierrors.NewGenericServerResponse(code, "get", schema.GroupResource{Resource: "configmaps"}, "a", "", 0, true)
	}
	for _, code := range []int{401, 408, 429, 500, 502, 503, 504} {
		require.True(t, Retryable(generic(code)), code)
	}
	for _, code := range []int{400, 403, 404, 405, 409, 413, 415, 422} {
		require.False(t, Retryable(generic(code)), code)
	}
	require.True(t, Retryable(errors.New("connection refused")))
	require.False(t, Retryable(nil))
}

func TestNotFoundIsAboutTheObject(t *testing.T) {
	resource := schema.GroupResource{Group: "ray.io", Resource: "rayclusters"}
	require.True(t, IsObjectNotFound(apierrors.NewNotFound(resource, "gym"), "gym"))
	noCRD := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "", "404 page not found", 0, true)
	require.False(t, IsObjectNotFound(noCRD, "gym"), "a missing CRD says nothing about the object")
	require.False(t, IsObjectNotFound(nil, "gym"))
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Backoff
		began := time.Now()
		for range 20 {
			before := time.Now()
			require.NoError(t, b.Wait(t.Context(), nil))
			require.Less(t, time.Since(before), 2*maxDelay)
		}
		require.Greater(t, time.Since(began), 10*time.Second, "it slows down")

		b.Reset()
		before := time.Now()
		require.NoError(t, b.Wait(t.Context(), nil))
		require.LessOrEqual(t, time.Since(before), 2*firstDelay)

		before = time.Now()
		require.NoError(t, b.Wait(t.Context(), apierrors.NewTooManyRequests("busy", 7)))
		require.GreaterOrEqual(t, time.Since(before), 7*time.Second, "the server's wish is honoured")

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, b.Wait(ctx, apierrors.NewTooManyRequests("busy", 60)), context.DeadlineExceeded)
	})
}

func TestTurnsGrowWithWhatATryCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, took := range []time.Duration{0, 5 * time.Millisecond, time.Second, time.Minute} {
			var b Backoff
			var longest time.Duration
			for range 100 {
				before := time.Now()
				require.NoError(t, b.WaitTurn(t.Context(), took))
				longest = max(longest, time.Since(before))
			}
			require.LessOrEqual(t, longest, min(8*max(took, time.Millisecond), 250*time.Millisecond))
			require.Greater(t, longest, min(4*max(took, time.Millisecond), 125*time.Millisecond))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, new(Backoff).WaitTurn(ctx, time.Hour), context.Canceled)
	})
}

// TestMissingResource: a 404 for the list is an error, never an empty level.
func TestMissingResource(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	defer server.Close()
	client, err := New(&rest.Config{Host: server.URL}, "default")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type object struct{}
	Follow(ctx, client, Query{Resource: RayClusters, Name: "gym"}, func(level Level[object]) {
		require.Error(t, level.Err)
		require.Empty(t, level.Items)
		if asked.Load() >= 3 {
			cancel()
		}
	})
	_, err = Look[object](t.Context(), client, Query{Resource: RayClusters, Name: "gym"})
	require.Error(t, err)
}
