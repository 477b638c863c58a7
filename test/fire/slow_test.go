package fire

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

func TestAnAPIServerThatTakesTwoSecondsARequestIsOnlySlow(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0, everything...)
	s.pod = slowed(t, s.pod, 2*time.Second)
	waiters := s.waiters(t, 4, "key-0")
	s.requireInTime(t, func(ctx context.Context) error { return s.store(t, "hasty").Set(ctx, "hasty", "x") })
	s.requireInTime(t, func(ctx context.Context) error { _, err := s.store(t, "hasty").Get(ctx, "key-0"); return err })

	var group errgroup.Group
	for i := range 4 {
		store := s.store(t, fmt.Sprintf("pod-%d", i))
		group.Go(func() error { return store.Set(s.ctx, fmt.Sprintf("key-%d", i), "here") })
	}
	began := time.Now()
	require.NoError(t, group.Wait())
	t.Logf("four writers of one ConfigMap took %s", time.Since(began).Round(time.Millisecond))
	for _, w := range waiters {
		w.requireValue(t, "here")
	}
	require.Len(t, s.data(t), 4)
}

// slowed is the same API server behind a proxy that sits on every request.
func slowed(t *testing.T, api *rest.Config, delay time.Duration) *rest.Config {
	t.Helper()
	target, err := url.Parse(api.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(api)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // a watch's events go out one by one
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pause(r.Context(), delay) == nil {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}
