package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/sidecar"
	"github.com/tandem-rl/tandem/peerwatch/reap"
)

// defaultReapListen is reached from outside the pod, by the kubelet's probes and by Prometheus.
const defaultReapListen = ":9442"

// reapOptions are the command line of peerwatch reap.
type reapOptions struct {
	reap.Config
	listen string
}

// runReap is `peerwatch reap`, but for the process around it.
func runReap(ctx context.Context, args []string, env func(string) string, stderr io.Writer) int {
	cfg, err := parseReap(args, env, stderr)
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
	return lookAfter(withLogger(ctx, stderr), cfg, restConfig, stderr)
}

// lookAfter reaps until ctx ends. Unlike a watcher it is alone in its pod: a port that is taken ends it.
func lookAfter(ctx context.Context, cfg reapOptions, restConfig *rest.Config, stderr io.Writer) int {
	state := newReapState()
	cfg.Observer = state
	reaper, err := reap.New(cfg.Config, restConfig)
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return exitUsage
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	if cfg.listen != "" {
		listener, err := net.Listen("tcp", cfg.listen)
		if err != nil {
			fmt.Fprintf(stderr, "error: --listen: %v\n", err)
			return exitFailed
		}
		go func() {
			defer stop()
			served <- sidecar.Serve(ctx, listener, state.handler(), shutdownTimeout)
		}()
	} else {
		served <- nil
	}
	err = reaper.Run(ctx)
	stop()
	if err := errors.Join(err, <-served); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
	return exitOK
}

// parseReap reads the command line. The error is [flag.ErrHelp] when help was asked for and has gone to stderr.
func parseReap(args []string, env func(string) string, stderr io.Writer) (reapOptions, error) {
	cfg := reapOptions{listen: defaultReapListen, Config: reap.Config{Policy: reap.DefaultPolicy(), Book: reap.DefaultBook, Instance: env("POD_NAME")}}
	policy := &cfg.Policy
	flags := flag.NewFlagSet("peerwatch reap", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // whoever calls prints the error; the usage is printed when it is asked for
	flags.StringVar(&cfg.Namespace, "namespace", env("TANDEM_NAMESPACE"), "namespace of the pods (default $TANDEM_NAMESPACE, else the pod's)")
	flags.Func("selector", "labels of the pods to look after; may be repeated, and a pod that any selects is meant (default "+strings.Join(reap.DefaultSelectors(), " and ")+")", func(text string) error {
		cfg.Selectors = append(cfg.Selectors, text)
		return nil
	})
	flags.StringVar(&cfg.Book, "book", cfg.Book, "ConfigMap that remembers what was deleted; it must exist")
	flags.DurationVar(&policy.StuckAfter, "stuck-after", policy.StuckAfter, "how long after it was scheduled a pod may prepare")
	flags.DurationVar(&policy.RecentWithin, "recent-within", policy.RecentWithin, "how old the newest Event that names a cause may be")
	flags.DurationVar(&policy.ReportAfter, "report-after", policy.ReportAfter, "when a stuck pod is reported that no Event explains")
	listVar(flags, &policy.Causes, "causes", "reasons of the kubelet's Events that name a cause, with commas")
	budgetVar(flags, &policy.NodeBudget, "node-budget", "how many pods of one node may be deleted, as COUNT/WINDOW; more limits with commas")
	budgetVar(flags, &policy.GangBudget, "gang-budget", "how many pods of one gang may be deleted")
	budgetVar(flags, &policy.TotalBudget, "total-budget", "how many pods of the namespace may be deleted")
	flags.StringVar((*string)(&policy.Exclude), "exclude", string(policy.Exclude), "what is done about a node whose budget is used up: report, or taint ("+reap.Taint+")")
	flags.BoolVar(&cfg.DryRun, "dry-run", false, "say in the log what would be done, and do nothing")
	flags.StringVar(&cfg.listen, "listen", cfg.listen, "HOST:PORT of /healthz, /readyz and /metrics; empty: none")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return cfg, err
	}
	if flags.NArg() > 0 {
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	cfg.Namespace = orOwnNamespace(cfg.Namespace)
	return cfg, nil
}

// budgetVar is a flag whose default is shown, as flag.Func does not.
func budgetVar(flags *flag.FlagSet, into *reap.Budget, name, usage string) {
	flags.Func(name, fmt.Sprintf("%s (default %s)", usage, *into), func(text string) (err error) {
		*into, err = reap.ParseBudget(text)
		return err
	})
}

func listVar(flags *flag.FlagSet, into *[]string, name, usage string) {
	flags.Func(name, fmt.Sprintf("%s (default %s)", usage, strings.Join(*into, ",")), func(text string) error {
		*into = strings.Split(text, ",")
		return nil
	})
}
