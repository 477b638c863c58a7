package peerwatch

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/internal/faultyapi"
)

// oddAnswers are answers with which a proxy, and no API server, claims success.
var oddAnswers = []struct{ name, body string }{
	{"an empty object", `{}`},
	{"nothing", ``},
	{"a page", `<html><body>please log in</body></html>`},
	{"a list of metadata only", `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"}}`},
	{"a status", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`},
	{"null", `null`},
	{"an object without a name", `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{}]}`},
	{"an object of another name", `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a","uid":"u"},"data":{"error":"CUDA"}}]}`},
}

// TestOddAnswersAreNoEvidence: what claims success and is no answer of an API server takes nothing down.
func TestOddAnswersAreNoEvidence(t *testing.T) {
	s := startServer(t)
	for i, odd := range oddAnswers {
		for _, of := range []string{"rayclusters", "pods", "configmaps"} {
			t.Run(odd.name+" instead of "+of, func(t *testing.T) {
				t.Parallel()
				r := s.newRun(t, fmt.Sprintf("odd%d%s", i, of))
				cfg, seen := faultyapi.Wrap(s.cfg)
				var broken atomic.Bool
				var asked atomic.Int32
				seen.Inject(func(req *http.Request) *http.Response {
					switch {
					case faultyapi.Kind(req) == "WATCH":
						return faultyapi.Answer(req, http.StatusOK, "") // so that everything is listed again and again
					case req.Method == http.MethodGet && broken.Load() && strings.Contains(req.URL.Path, "/"+of):
						asked.Add(1)
						return faultyapi.Answer(req, http.StatusOK, odd.body)
					}
					return nil
				})
				w := r.watch(t, "rl", cfg)
				require.Eventually(t, func() bool { return seen.Of("GET") > 10 }, 10*time.Second, time.Millisecond)
				broken.Store(true)
				require.Eventually(t, func() bool { return asked.Load() > 3 || w.ended() }, 20*time.Second, time.Millisecond)
				require.False(t, w.ended(), "taken down: %s", w.outcome.Action.Reason)
				broken.Store(false)
				r.completeDriver(t)
				require.Equal(t, Succeed, w.wait(t).Action.Kind)
			})
		}
	}
}
