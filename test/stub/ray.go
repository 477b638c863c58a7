package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func ray(ctx context.Context, args []string, out io.Writer) int {
	switch {
	case len(args) >= 1 && args[0] == "start":
		return rayStart(ctx, args, out)
	case len(args) >= 1 && args[0] == "health-check":
		return rayHealthCheck(ctx, args[1:])
	case len(args) >= 2 && args[0] == "job" && args[1] == "submit":
		return rayJobSubmit(ctx, args[2:], out)
	case len(args) >= 1 && args[0] == "stop":
		return rayStop()
	case len(args) >= 1 && args[0] == "--version":
		fmt.Fprintln(out, "ray, version", rayVersion)
		return 0
	}
	return complain("ray: the stub has only start, stop, health-check and job submit, not %q", strings.Join(args, " "))
}

func rayStart(ctx context.Context, args []string, out io.Writer) int {
	f := parseFlags(args[1:], "head", "block", "disable-usage-stats", "verbose")
	if f.has("head") == (f.get("address", "") != "") {
		return complain("ray start: either --head or --address HOST:PORT")
	}
	if !f.has("block") {
		return rayStartInBackground(ctx, args, f, out)
	}
	if f.has("head") {
		return runHead(ctx, f, out)
	}
	return runWorker(ctx, f, out)
}

// rayStartInBackground starts itself once more, with --block and in its own session, and returns when the node agent
// answers. That is all that real Ray promises too.
func rayStartInBackground(ctx context.Context, args []string, f flags, out io.Writer) int {
	self, err := os.Executable()
	if err != nil {
		return complain("ray start: %v", err)
	}
	node := exec.Command(self, append([]string{"ray"}, append(args, "--block")...)...)
	node.Args[0] = "stub"
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	node.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := node.Start(); err != nil {
		return complain("ray start: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- node.Wait() }()
	for {
		select {
		case err := <-ended:
			return complain("ray start: the node ended: %v", err)
		case <-ctx.Done():
			return 1
		case <-time.After(20 * time.Millisecond):
		}
		if agentAnswers(ctx, f) {
			fmt.Fprintln(out, "Ray runtime started.")
			return 0
		}
	}
}
