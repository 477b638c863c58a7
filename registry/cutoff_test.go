package registry

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/faultyapi"
)

// TestATryThatCtxCutsOffHidesNotWhatTheOneBeforeSaid: a conflict stays the cause.
func TestATryThatCtxCutsOffHidesNotWhatTheOneBeforeSaid(t *testing.T) {
	cfg, seen := faultyapi.Wrap(&rest.Config{Host: "http://127.0.0.1:1"})
	met := false
	seen.Inject(func(req *http.Request) *http.Response {
		switch {
		case req.Method == http.MethodPatch:
			met = true
			return faultyapi.Answer(req, http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
		case met:
			<-req.Context().Done()
		}
		return faultyapi.Answer(req, http.StatusOK, `{"metadata":{"resourceVersion":"1"}}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := openStore(t, cfg, "a", "").Set(ctx, "k", "v")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, ErrConflict)
}
