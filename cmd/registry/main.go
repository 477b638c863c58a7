// Command registry serves the endpoint registry of a run to the other containers of its pod, and publishes the pod's
// own endpoints. The same binary is the init container that waits for a key or an address, the wrapper that reports a
// command's failure, and the tool for people. docs/registry.md shows it all, the exit codes among it.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	klog.SetSlogLogger(slog.New(slog.NewJSONHandler(os.Stderr, nil))) // client-go logs without a context
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
