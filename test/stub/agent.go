package main

import (
	"context"
	"net"
	"net/http"
	"time"
)

const defaultAgentPort = "52365"

func agentPort(f flags) string { return f.get("dashboard-agent-listen-port", defaultAgentPort) }

// serveAgent is a node's dashboard agent: what KubeRay's probes ask for.
func serveAgent(ctx context.Context, f flags) (func() error, error) {
	listener, err := net.Listen("tcp", ":"+agentPort(f))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /api/local_raylet_healthz", says("success"))
	mux.Handle("GET /api/healthz", says("success"))
	return func() error { return serve(ctx, listener, mux) }, nil
}

func agentAnswers(ctx context.Context, f flags) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+agentPort(f)+"/api/local_raylet_healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
