package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tandem-rl/tandem/internal/sidecar"
	"github.com/tandem-rl/tandem/peerwatch"
	"github.com/tandem-rl/tandem/registry"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

const defaultListen = "127.0.0.1:9441"

// options are the command line.
type options struct {
	peerwatch.Config
	listen string
}

// parse reads the command line. What it leaves out may come from the environment of NeMo-RL's inline watcher:
// SELF_CLUSTER_NAME, PEER_CLUSTER_NAME and JOB_ID for --self, --peer and --run, and POLL_INTERVAL (seconds) times
// MAX_PEER_FAILURES for --unready-grace. The error is [flag.ErrHelp] when help was asked for and has gone to stderr.
func parse(args []string, env func(string) string, stderr io.Writer) (options, error) {
	cfg := options{listen: defaultListen, Config: peerwatch.Config{
		Policy: peerwatch.DefaultPolicy(),
		Pod:    registry.Publisher{Pod: env("POD_NAME"), UID: env("POD_UID")},
		Self:   raycluster(env("SELF_CLUSTER_NAME")),
	}}
	grace, err := inlineGrace(env, cfg.Policy.UnreadyGrace)
	if err != nil {
		return cfg, err
	}
	flags := flag.NewFlagSet("peerwatch", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // whoever calls prints the error; the usage is printed when it is asked for
	flags.StringVar(&cfg.Run, "run", first(env("TANDEM_RUN"), env("JOB_ID")), "name of the run (default $TANDEM_RUN, else $JOB_ID)")
	flags.StringVar(&cfg.Namespace, "namespace", env("TANDEM_NAMESPACE"), "namespace of the run (default $TANDEM_NAMESPACE, else the pod's)")
	flags.StringVar(&cfg.Prefix, "prefix", registry.DefaultPrefix, "what precedes the run in the registry ConfigMap's name")
	flags.Func("self", "KIND/NAME: the cluster that this pod is the head of; a NAME alone is a RayCluster's (default $SELF_CLUSTER_NAME)", ref(func(r peerwatch.Ref) { cfg.Self = r }))
	flags.Func("peer", "KIND/NAME: another cluster of the run (repeatable; default $PEER_CLUSTER_NAME)", ref(func(r peerwatch.Ref) { cfg.Peers = append(cfg.Peers, r) }))
	flags.Func("driver", "KIND/NAME: what ends the run, a job, jobset or rayjob", ref(func(r peerwatch.Ref) { cfg.Driver = r }))
	flags.StringVar((*string)(&cfg.Policy.OnFailure), "policy", string(cfg.Policy.OnFailure), "what to do when a cluster fails: cascade, restart (start all clusters again), signal (report it only), ignore, or dry-run (say what would be done)")
	flags.IntVar(&cfg.Policy.MaxRestarts, "max-restarts", cfg.Policy.MaxRestarts, "how often --policy restart starts the clusters again before the run is taken down")
	flags.Func("restart-backoff", "FIRST..MAX: how long the attempt after a restart must have lasted before the next one; doubles (default 10s..5m)", func(arg string) (err error) {
		cfg.Policy.RestartBackoff, cfg.Policy.RestartBackoffMax, err = backoff(arg)
		return err
	})
	flags.IntVar(&cfg.Shards, "shards", 0, "number of the registry's shards, which a restart empties too")
	flags.StringVar((*string)(&cfg.Policy.OnSuspend), "suspended", string(cfg.Policy.OnSuspend), "what a suspended cluster means: wait, follow (suspend the others too, and resume together), or fail")
	flags.DurationVar(&cfg.Policy.StartupGrace, "startup-grace", cfg.Policy.StartupGrace, "how long a cluster may be absent")
	flags.DurationVar(&cfg.Policy.UnreadyGrace, "unready-grace", grace, "how long a head that was ready may be unready")
	flags.DurationVar(&cfg.Policy.StuckGrace, "stuck-grace", cfg.Policy.StuckGrace, "how long a pod may be unable to start, and KubeRay unable to make pods")
	flags.DurationVar(&cfg.Policy.UnschedulableGrace, "unschedulable-grace", 0, "how long a pod may find no node (default that of --startup-grace)")
	flags.StringVar(&cfg.listen, "listen", cfg.listen, "loopback HOST:PORT of /healthz, /readyz and /metrics; empty: none")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return cfg, err
	}
	return complete(cfg, flags, env)
}

func complete(cfg options, flags *flag.FlagSet, env func(string) string) (options, error) {
	if flags.NArg() > 0 {
		return cfg, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if peer := env("PEER_CLUSTER_NAME"); len(cfg.Peers) == 0 && peer != "" {
		cfg.Peers = []peerwatch.Ref{raycluster(peer)}
	}
	cfg.Namespace = orOwnNamespace(cfg.Namespace)
	if cfg.listen == "" {
		return cfg, nil
	}
	return cfg, sidecar.CheckLoopback(cfg.listen)
}

func ref(set func(peerwatch.Ref)) func(string) error {
	return func(arg string) error {
		r, err := peerwatch.ParseRef(arg)
		if err == nil {
			set(r)
		}
		return err
	}
}

// backoff parses FIRST..MAX.
func backoff(arg string) (first, longest time.Duration, err error) {
	from, to, found := strings.Cut(arg, "..")
	if !found {
		return 0, 0, errors.New("want FIRST..MAX, such as 10s..5m")
	}
	first, firstErr := time.ParseDuration(from)
	longest, longestErr := time.ParseDuration(to)
	return first, longest, errors.Join(firstErr, longestErr)
}

// raycluster is what the inline watcher's variables name.
func raycluster(name string) peerwatch.Ref {
	if name == "" {
		return peerwatch.Ref{}
	}
	return peerwatch.Ref{Kind: peerwatch.RayCluster, Name: name}
}

// inlineGrace is how long the inline watcher let a peer fail before it acted.
func inlineGrace(env func(string) string, otherwise time.Duration) (time.Duration, error) {
	interval, failures := env("POLL_INTERVAL"), env("MAX_PEER_FAILURES")
	if interval == "" && failures == "" {
		return otherwise, nil
	}
	seconds, err := strconv.Atoi(first(interval, "10"))
	if err != nil {
		return 0, fmt.Errorf("POLL_INTERVAL: want a whole number of seconds: %w", err)
	}
	times, err := strconv.Atoi(first(failures, "3"))
	if err != nil {
		return 0, fmt.Errorf("MAX_PEER_FAILURES: want a whole number: %w", err)
	}
	if most := math.MaxInt64 / int(time.Second); seconds < 0 || times < 0 || (seconds > 0 && times > most/seconds) {
		return 0, fmt.Errorf("POLL_INTERVAL %d times MAX_PEER_FAILURES %d: want 0 to %d seconds", seconds, times, most)
	}
	return time.Duration(seconds*times) * time.Second, nil
}

// orOwnNamespace is the given namespace, else the one of the pod that this runs in.
func orOwnNamespace(given string) string {
	if given != "" {
		return given
	}
	raw, _ := os.ReadFile(namespaceFile) // without it the missing namespace is reported
	return strings.TrimSpace(string(raw))
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
