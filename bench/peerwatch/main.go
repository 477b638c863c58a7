// Command peerwatch (`make bench-peerwatch`) measures on a real API server, whose etcd waits for the disk, how soon a run
// is taken down after a part of it was killed, and whether it is taken down by mistake. It prints tables and which goals
// were met, and writes the same as JSON.
//
// Each run is what `tandem up` makes, in a namespace of its own, with the real program peerwatch for each cluster, under
// the arguments, the account and the rights that it has in a pod. There are no nodes: the bench reports what KubeRay and
// the kubelet would. What it measures begins before it asks the API server for the kill, and ends when the server has
// accepted the last deletion of the run; that, and what idle watchers ask, is read from the server's own audit log.
//
// Beside it, on the same server, are a polling watcher of the kind that NeMo-RL's examples use, and storms of refusals
// while nothing has failed. It fails if a goal is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
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

// options are what the command line says.
type options struct {
	bin, out string
	sizes    []int
	trials   int
	storm    time.Duration
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{sizes: []int{2, 3, 8}}
	flags := flag.NewFlagSet("bench-peerwatch", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.bin, "bin", "bin", "folder of the built programs")
	flags.StringVar(&o.out, "out", "", "JSON file to write")
	flags.IntVar(&o.trials, "trials", 30, "trials of each kill and size")
	flags.DurationVar(&o.storm, "storm", time.Minute, "how long the API server refuses")
	flags.Func("sizes", "how many clusters a run has (default 2,3,8)", func(arg string) (err error) {
		o.sizes, err = numbers(arg)
		return err
	})
	err := flags.Parse(args)
	return o, err
}

func numbers(list string) ([]int, error) {
	var all []int
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 2 {
			return nil, fmt.Errorf("%q: want a number above 1", field)
		}
		all = append(all, n)
	}
	return all, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("the watchers run in roots of their own, which needs root")
	}
	dir, err := os.MkdirTemp("", "bench-peerwatch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends all watchers
	report, err := measure(ctx, o, dir, stderr)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := figure.WriteFile(o.out, report); err != nil {
			return err
		}
	}
	if err := report.print(stdout); err != nil {
		return err
	}
	return report.failed()
}

func measure(ctx context.Context, o options, dir string, stderr io.Writer) (_ *report, err error) {
	b, stop, err := newBench(ctx, o.bin, dir, stderr)
	if stop != nil {
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err != nil {
		return nil, err
	}
	return b.measure(ctx, o)
}
