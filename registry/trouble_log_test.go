package registry

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/faultyapi"
)

// logged collects what is logged from ctx.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) into(ctx context.Context) context.Context {
	return klog.NewContext(ctx, funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, args)
	}, funcr.Options{}))
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// TestAFolderSaysOnceThatItCannotRead, whatever the number of shards and of tries, once that it can, and nothing at its end.
func TestAFolderSaysOnceThatItCannotRead(t *testing.T) {
	cfg, seen := faultyapi.Wrap(&rest.Config{Host: "http://127.0.0.1:1"})
	answer := func(code int) {
		seen.Inject(func(req *http.Request) *http.Response {
			if code == http.StatusOK && req.URL.Query().Has("watch") {
				return faultyapi.Answer(req, http.StatusTooManyRequests, "busy")
			}
			return faultyapi.Answer(req, code, `{"metadata":{"resourceVersion":"1"},"items":[]}`)
		})
	}
	answer(http.StatusTooManyRequests)
	folder, err := NewFolder(Config{Run: "a", Namespace: "default", Shards: 8}, cfg)
	require.NoError(t, err)
	var log logged
	ctx, cancel := context.WithCancel(log.into(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- folder.Run(ctx) }()
	require.Eventually(t, func() bool { return seen.All() > 40 }, 10*time.Second, time.Millisecond)
	require.Len(t, log.all(), 1)
	require.Contains(t, log.all()[0], "cannot read")
	answer(http.StatusOK)
	require.Eventually(t, func() bool { return len(log.all()) == 2 }, 10*time.Second, time.Millisecond)
	require.Contains(t, log.all()[1], "reads everything again")

	seen.Inject(func(req *http.Request) *http.Response {
		<-req.Context().Done()
		return faultyapi.Answer(req, http.StatusGatewayTimeout, "")
	})
	cancel()
	require.NoError(t, <-ended)
	require.Len(t, log.all(), 2, "%v", log.all())
}

func TestTroubleThatGetsWorseIsSaid(t *testing.T) {
	var log logged
	ctx := log.into(t.Context())
	said := trouble{fails: "fails", works: "works"}
	for _, step := range []struct {
		object string
		err    error
		lines  int
	}{
		{"a", nil, 0},
		{"a", context.DeadlineExceeded, 1},
		{"b", context.DeadlineExceeded, 1},
		{"a", nil, 1},
		{"a", ErrForbidden, 2},
		{"b", nil, 2},
		{"a", nil, 3},
		{"b", nil, 3},
	} {
		said.note(ctx, step.object, step.err)
		require.Len(t, log.all(), step.lines, "%v", step)
	}
}
