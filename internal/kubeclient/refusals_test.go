package kubeclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func refusal(why string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New(why))
}

func TestRefusalsThatMayPass(t *testing.T) {
	plain := refusal(`User "pod" cannot get resource "configmaps" in API group "" in the namespace "default"`)
	unread := refusal(`User "pod" cannot get resource "configmaps": RBAC: role.rbac.authorization.k8s.io "pod" not found`)
	away := errors.New("connection refused")
	busy := apierrors.NewTooManyRequests("busy", 1)
	broken := apierrors.NewInternalError(errors.New("no leader"))
	for _, tc := range []struct {
		name    string
		answers []error
		want    bool // of the last
	}{
		{"at once from a server that is well", []error{plain}, false},
		{"at once, and the role is not found", []error{unread}, true},
		{"after a lost connection", []error{away, plain}, true},
		{"after a server error", []error{broken, plain, plain}, true},
		{"after a busy server", []error{busy, plain}, true},
		{"after the server was well again", []error{away, nil, plain}, false},
		{"after the server answered something else", []error{away, apierrors.NewNotFound(schema.GroupResource{}, "a"), plain}, false},
		{"no refusal", []error{away}, false},
		{"no error", []error{plain, nil}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Refusals
			var got bool
			for _, err := range tc.answers {
				got = r.MayPass(err)
			}
			require.Equal(t, tc.want, got)
		})
	}
	for name, between := range map[string]error{"nothing else": unread, "a server that is now and then busy": busy} {
		t.Run("not for ever, with "+name+" in between", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r Refusals
				for began := time.Now(); time.Since(began) < RolesWithin; time.Sleep(time.Second) {
					require.True(t, r.MayPass(unread))
					r.MayPass(between)
				}
				require.False(t, r.MayPass(unread))
			})
		})
	}
}

// young is an API server that has just started: it refuses everything until it has read the roles.
type young struct {
	mu    sync.Mutex
	grown bool
	lists int
}

func (y *young) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	y.mu.Lock()
	defer y.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !y.grown:
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,` +
			`"message":"configmaps \"a\" is forbidden: RBAC: role.rbac.authorization.k8s.io \"pod\" not found"}`))
	case r.URL.Query().Has("watch"):
		_, _ = w.Write([]byte(`{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"2"}}}`))
	default:
		y.lists++
		_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a","resourceVersion":"1"}}]}`))
	}
}

func (y *young) grow() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.grown = true
}

// TestFollowAServerThatHasNotReadTheRoles: it neither says that the role is wrong nor polls for a minute.
func TestFollowAServerThatHasNotReadTheRoles(t *testing.T) {
	server := &young{}
	address := httptest.NewServer(server)
	defer address.Close()
	client, err := New(&rest.Config{Host: address.URL}, "default")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	refused, levels := 0, 0
	Follow(ctx, client, Query{Resource: ConfigMaps, Name: "a"}, func(level Level[struct{}]) {
		if level.Err == nil {
			if levels++; levels == 2 { // the second comes by the watch
				cancel()
			}
			return
		}
		require.False(t, apierrors.IsForbidden(level.Err), "%v", level.Err)
		require.True(t, strings.Contains(level.Err.Error(), `role.rbac.authorization.k8s.io "pod" not found`), level.Err)
		if refused++; refused == 3 {
			server.grow()
		}
	})
	require.Equal(t, 2, levels, "one by the list, one by the watch")
	require.GreaterOrEqual(t, refused, 3)
	require.Equal(t, 1, server.lists)
}

// TestFollowAfterCtxHasEnded: nobody is told that a server cannot be asked which nobody asks any more.
func TestFollowAfterCtxHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	client, err := New(&rest.Config{Host: server.URL}, "default")
	require.NoError(t, err)
	Follow(ctx, client, Query{Resource: ConfigMaps, Name: "a"}, func(level Level[struct{}]) {
		require.Fail(t, "told", "%v", level.Err)
	})
}
