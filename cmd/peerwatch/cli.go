package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/peerwatch"
)

// Exit codes, as the package comment says.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitCascaded = 4
)

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, env func(string) string, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "reap" {
		return runReap(ctx, args[1:], env, stderr)
	}
	cfg, err := parse(args, env, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return exitUsage
	}
	restConfig, err := rest.InClusterConfig()
	if err != nil {
		fmt.Fprintln(stderr, "error: in-cluster configuration:", err)
		return exitFailed
	}
	return watch(withLogger(ctx, stderr), cfg, restConfig, stderr)
}

// settled is when everything has been listed for the first time. What that took is given back to the system then: a watcher that waits for
// days needs less than one that starts.
const settled = 5 * time.Second

func watch(ctx context.Context, cfg options, restConfig *rest.Config, stderr io.Writer) int {
	state := newState()
	cfg.Observer = state
	watcher, err := peerwatch.New(cfg.Config, restConfig)
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return exitUsage
	}
	defer state.listen(ctx, cfg.listen)()
	defer time.AfterFunc(settled, debug.FreeOSMemory).Stop()
	outcome, err := watcher.Run(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	case outcome.Action.Kind >= peerwatch.Succeed:
		return exitCascaded
	default:
		return exitOK
	}
}

// withLogger sends the libraries' logs, client-go's among them, to w as JSON.
func withLogger(ctx context.Context, w io.Writer) context.Context {
	handler := slog.NewJSONHandler(w, nil)
	klog.SetSlogLogger(slog.New(handler))
	return klog.NewContext(ctx, logr.FromSlogHandler(handler))
}
