// Command registry (`make bench-registry`) measures the endpoint registry on a real API server, whose etcd waits for the
// disk: many writers at once by three algorithms, how soon waiters know, and what an idle sidecar costs. It prints one
// table and which goals were met, and writes the same as JSON.
//
// Every writer and waiter is a client of its own with a connection of its own, opened before the clock starts; real ones
// are pods. Shared are the process, and with the API server the machine: what the clients compute is part of the wall.
// Every figure stands against a floor measured right before it by the same means.
//
// It fails only if the library lost a write. Times are for people to judge: they say as much about the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/tandem-rl/tandem/bench/internal/figure"
	"github.com/tandem-rl/tandem/test/localcluster"
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
	bin, out, kubeconfig string
	sizes                []int
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{sizes: []int{2, 10, 50, 200, 1000}}
	flags := flag.NewFlagSet("bench-registry", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.bin, "bin", "bin", "folder of the built programs")
	flags.StringVar(&o.out, "out", "", "JSON file to write")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "a cluster to use (default: a local one, made and removed)")
	flags.Func("sizes", "how many writers, and at most how many waiters (default 2,10,50,200,1000)", func(arg string) (err error) {
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
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: want a number above 0", field)
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
	if o.kubeconfig == "" {
		cluster, err := localcluster.StartNew(ctx, o.bin, "bench", stderr, "--fsync")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cluster.Stop(context.WithoutCancel(ctx))) }()
		o.kubeconfig = cluster.Kubeconfig
	}
	b, err := newBench(ctx, o.kubeconfig, stderr)
	if err != nil {
		return err
	}
	report, err := b.measure(ctx, o.sizes, filepath.Join(o.bin, "registry"))
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
	return report.lost()
}
