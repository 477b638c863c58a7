package sidecar

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMetrics(t *testing.T) {
	m := NewMetrics(Family{"steps_total", "counter", "Steps."}, Family{"spots", "gauge", "Spots."})
	m.Add("steps_total", 1, "step", "delete", "result", "ok")
	m.Add("steps_total", 1, "step", "delete", "result", "ok")
	m.Add("steps_total", 1, "step", "delete", "result", "error")
	m.Set("spots", 3)
	m.Set("spots", 2)
	var out strings.Builder
	m.Print(&out)
	require.Equal(t, `# HELP steps_total Steps.
# TYPE steps_total counter
steps_total{step="delete",result="error"} 1
steps_total{step="delete",result="ok"} 2
# HELP spots Spots.
# TYPE spots gauge
spots 2
`, out.String())
}

func TestOnlyLoopback(t *testing.T) {
	for _, good := range []string{"127.0.0.1:9441", "localhost:0", "[::1]:9441"} {
		require.NoError(t, CheckLoopback(good))
	}
	for _, bad := range []string{"0.0.0.0:9441", ":9441", "10.0.0.1:9441", "127.0.0.1"} {
		require.ErrorContains(t, CheckLoopback(bad), bad)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Serve(ctx, listener, NewMetrics(Family{"spots", "gauge", "Spots."}), time.Second) }()
	answer, err := http.Get("http://" + listener.Addr().String())
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Contains(t, string(body), "# TYPE spots gauge")
	cancel()
	require.NoError(t, <-done)
	http.DefaultClient.CloseIdleConnections()
}
