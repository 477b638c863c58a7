// Command registry serves the endpoint registry of a run to the other containers of its pod, on loopback, and
// publishes the pod's own endpoints. The same binary is the init container that waits for an address, and the tool
// for people: get, set, list, fail.
//
// Exit codes: 0 ok, 1 failed, 2 usage, 3 deadline.
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
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
