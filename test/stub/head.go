package main

import (
	"context"
	"fmt"
	"io"
	"net"

	"golang.org/x/sync/errgroup"
)

const rayVersion = "2.52.0"

// runHead serves the GCS, the dashboard and the agent until ctx ends, and then ends its jobs.
func runHead(ctx context.Context, f flags, out io.Writer) int {
	gcs, err := net.Listen("tcp", ":"+f.get("port", "6379"))
	if err != nil {
		return complain("ray start: %v", err)
	}
	// As with Ray, the dashboard is on loopback unless told otherwise.
	dashboard, err := net.Listen("tcp", net.JoinHostPort(f.get("dashboard-host", "127.0.0.1"), f.get("dashboard-port", "8265")))
	if err != nil {
		return complain("ray start: %v", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	agent, err := serveAgent(ctx, f)
	if err != nil {
		return complain("ray start: %v", err)
	}
	jobs := newJobs()
	defer jobs.stopAll()
	group.Go(func() error { return serveGCS(ctx, gcs, out) })
	group.Go(func() error { return serve(ctx, dashboard, newDashboard(jobs)) })
	group.Go(agent)
	fmt.Fprintf(out, "Ray head started: GCS %s, dashboard %s\n", gcs.Addr(), dashboard.Addr())
	if err := group.Wait(); err != nil {
		return complain("ray start: %v", err)
	}
	return 0
}
