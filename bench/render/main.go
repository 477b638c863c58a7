// Command render (`make bench-render`) measures what it costs to render a run: time and memory of 10,000 pods in 100 worker groups, how
// both grow with the number of groups, and that they do not grow with the number of pods.
//
// Each case is a process of its own, so that its memory is its own: the peak of the resident set as the kernel counts it, the Go runtime
// and everything that the program links included. The time is that of one call in a fresh process, from the text of the Run file to the
// last byte of YAML: what a user waits for. It is the median of several processes.
//
// It fails when a goal is missed: 1 s and 150 MiB for 10,000 pods, and a cost that follows the groups.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/tandem-rl/tandem/bench/internal/figure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench-render", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "JSON file to write")
	rounds := flags.Int("rounds", 9, "processes for each case, whose median counts")
	child := flags.String("case", "", "GROUPSxPODS, to be measured in this process")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *child != "" {
		return measureHere(*child, stdout)
	}
	if *rounds < 1 {
		return fmt.Errorf("--rounds %d: want at least 1", *rounds)
	}
	report := report{Date: time.Now().UTC().Format(time.DateOnly), CPUs: runtime.NumCPU(), Rounds: *rounds}
	for _, c := range cases {
		result, err := measure(ctx, c, *rounds)
		if err != nil {
			return err
		}
		report.Cases = append(report.Cases, result)
	}
	missed := report.judge()
	if err := errors.Join(report.write(*out), report.print(stdout)); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("missed: %w", errors.Join(missed...))
	}
	return nil
}

// write leaves the file out where none is wanted.
func (r *report) write(path string) error {
	if path == "" {
		return nil
	}
	return figure.WriteFile(path, r)
}
