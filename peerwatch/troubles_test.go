package peerwatch

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// answering is a transport with one answer.
type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) { return a(req) }

func TestTroubleMakesRefusalsPassForAWhile(t *testing.T) {
	code := func(code int) answering {
		return func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: code}, nil }
	}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New("no"))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		answer answering
		want   bool
	}{
		{"a server that is well", t.Context(), code(200), false},
		{"a server that refuses", t.Context(), code(403), false},
		{"a server that is broken", t.Context(), code(503), true},
		{"a server that is busy", t.Context(), code(429), true},
		{"a server that is away", t.Context(), func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, true},
		{"a request that nobody waits for", cancelled, func(*http.Request) (*http.Response, error) { return nil, context.Canceled }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := start
			server := &troubles{now: func() time.Time { return now }}
			req, err := http.NewRequestWithContext(tc.ctx, http.MethodGet, "http://a", nil)
			require.NoError(t, err)
			resp, _ := (&noting{tc.answer, server}).RoundTrip(req)
			if resp != nil && resp.Body != nil {
				require.NoError(t, resp.Body.Close())
			}
			require.Equal(t, tc.want, server.mayPass(refused))
			require.False(t, server.mayPass(errStillThere), "only refusals")
			now = now.Add(kubeclient.RolesWithin)
			require.False(t, server.mayPass(refused), "no longer")
		})
	}
}
