package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/peerwatch"
)

func ask(s *state, path string) (code int, body string) {
	answer := httptest.NewRecorder()
	s.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

func TestAWatcherIsReadyWhileItSees(t *testing.T) {
	s := newState()
	requireReady := func(wantCode int, wantBody string) {
		t.Helper()
		code, body := ask(s, "/readyz")
		require.Equal(t, wantCode, code)
		require.Equal(t, wantBody, body)
	}
	requireReady(503, "not looked yet\n")
	s.Decided(peerwatch.Action{Kind: peerwatch.Blind, Reason: "cannot see RayCluster gym: 503"}, 1)
	requireReady(503, "cannot see RayCluster gym: 503\n")
	s.Decided(peerwatch.Action{}, 0)
	requireReady(200, "ok\n")
	code, _ := ask(s, "/healthz")
	require.Equal(t, 200, code)
}

func TestMetricsCountChangesOfMind(t *testing.T) {
	s := newState()
	s.Decided(peerwatch.Action{Kind: peerwatch.Blind, Reason: "cannot see a; b"}, 2)
	s.Decided(peerwatch.Action{}, 0)
	s.Decided(peerwatch.Action{}, 0)
	s.Decided(peerwatch.Action{Kind: peerwatch.Fail, Reason: "gym died"}, 0)
	s.Did(peerwatch.Step{Kind: peerwatch.StepDelete, Name: "delete a"})
	s.Did(peerwatch.Step{Kind: peerwatch.StepDelete, Name: "delete b", Err: errors.New("403")})
	_, body := ask(s, "/metrics")
	for _, line := range []string{
		`tandem_peerwatch_state{state="fail"} 1`, `tandem_peerwatch_state{state="wait"} 0`, `tandem_peerwatch_state{state="blind"} 0`,
		`tandem_peerwatch_decisions_total{state="wait"} 1`, `tandem_peerwatch_blind_spots 0`,
		`tandem_peerwatch_steps_total{step="delete",result="ok"} 1`, `tandem_peerwatch_steps_total{step="delete",result="error"} 1`,
	} {
		require.Contains(t, body, line+"\n")
	}
}

func TestAPortThatIsTakenDoesNotKeepAWatcherFromWatching(t *testing.T) {
	server := httptest.NewServer(newState().handler())
	defer server.Close()
	stop := newState().listen(withLogger(context.Background(), t.Output()), server.Listener.Addr().String())
	stop()
}
