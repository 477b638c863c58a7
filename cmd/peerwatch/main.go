// Command peerwatch watches the clusters of a run from the head pod of one of them, and takes the run down whole when a
// part of it fails or the driver has finished.
//
// Exit codes: 0 ended by SIGTERM, 1 failed (or a cascade that could not be completed), 2 usage, 4 cascade done.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stderr))
}
