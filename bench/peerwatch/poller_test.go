package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePollingWatcherJudgesAsItsModelDoes(t *testing.T) {
	for _, test := range []struct {
		name         string
		code         int
		state, error string
		dead, strike bool
	}{
		{name: "a peer that is ready", code: 200, state: "ready"},
		{name: "a head that has died leaves the state as it is", code: 200, state: "ready"},
		{name: "a peer that is not there is dead at once", code: 404, dead: true},
		{name: "a peer that has failed", code: 200, state: "failed", strike: true},
		{name: "a peer that is suspended", code: 200, state: "suspended", strike: true},
		{name: "a refusal counts against the peer", code: 403, strike: true},
		{name: "an outage counts against the peer", code: 503, strike: true},
		{name: "a reported error", code: 200, state: "ready", error: "out of memory", dead: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/registry" {
					fmt.Fprintf(w, `{"data":{"error":%q}}`, test.error)
					return
				}
				w.WriteHeader(test.code)
				fmt.Fprintf(w, `{"status":{"state":%q}}`, test.state)
			}))
			defer server.Close()
			p := &poller{client: server.Client(), peer: server.URL + "/peer", registry: server.URL + "/registry"}
			dead, strike := p.look(t.Context())
			require.Equal(t, test.dead, dead)
			require.Equal(t, test.strike, strike)
		})
	}
}

func TestThePollingWatcherDeletesItsOwnClusterFirstAndIgnoresTheAnswers(t *testing.T) {
	var deleted []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deleted = append(deleted, r.Method+" "+r.URL.Path)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	p := &poller{client: server.Client(), own: server.URL + "/own", peer: server.URL + "/peer", registry: server.URL + "/registry"}
	require.False(t, p.tearDown(t.Context()))
	require.Equal(t, []string{"DELETE /own", "DELETE /peer", "DELETE /registry"}, deleted)
}
