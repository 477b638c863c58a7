// Command stub plays the trainer image in tests: one static binary that is ray, vllm-server, gym-server or grpo,
// after the name it is called by (or its first argument).
//
// It has Ray's interfaces as far as KubeRay, tandem and its tests touch them (ports, probes, job API, exit codes),
// needs no GPU, and starts at once. It is not Ray: it schedules nothing and forgets everything.
//
// Every program ends with 143 on SIGTERM, also as process 1.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// program is one of the programs. It returns its exit code.
type program func(ctx context.Context, args []string, out io.Writer) int

var programs = map[string]program{
	"ray":         ray,
	"vllm-server": vllmServer,
	"gym-server":  gymServer,
	"grpo":        grpo,
}

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if programs[name] == nil && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	play := programs[name]
	if play == nil {
		fmt.Fprintln(os.Stderr, "stub: call me ray, vllm-server, gym-server or grpo")
		os.Exit(2)
	}
	if os.Getpid() == 1 {
		os.Exit(asInit())
	}
	os.Exit(untilSignal(play, args))
}

// untilSignal plays until the end or a signal, which makes the exit code 128 + signal.
func untilSignal(play program, args []string) int {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	caught := make(chan int, 1)
	go func() {
		s := <-signals
		caught <- 128 + int(s.(syscall.Signal))
		cancel()
	}()
	code := play(ctx, args, os.Stdout)
	if ctx.Err() != nil {
		return <-caught
	}
	return code
}

// complain prints why a program fails and returns its exit code.
func complain(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "error: "+format+"\n", args...)
	return 1
}
