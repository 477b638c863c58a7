package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/sidecar"
	"github.com/tandem-rl/tandem/registry"
)

// server is the sidecar.
type server struct {
	listener     net.Listener
	store        *registry.Store
	folder       *registry.Folder // nil but in the one place that folds
	metrics      *metrics
	publications []publication
	health       health
}

func serve(ctx context.Context, args []string, std streams) error {
	o := serveOptions{metrics: newMetrics()}
	flags := flag.NewFlagSet("registry serve", flag.ContinueOnError)
	o.bind(flags)
	rest, err := parse(flags, args, std)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageError{fmt.Errorf("serve takes no arguments: %q", rest)}
	}
	s, err := o.server()
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// serveOptions are the flags of serve.
type serveOptions struct {
	target
	pubs    publications
	health  health
	listen  string
	fold    bool
	metrics *metrics
}

func (o *serveOptions) bind(flags *flag.FlagSet) {
	o.target.bind(flags)
	o.onWrite = o.metrics.wrote
	o.pubs.bind(flags)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:9440", "loopback HOST:PORT, or unix:PATH, to serve on")
	flags.IntVar(&o.shards, "shards", 0, "number of ConfigMaps that the run's endpoints are spread over; 0: only the run's own")
	flags.BoolVar(&o.fold, "fold", false, "carry the shards into the run's ConfigMap; exactly one sidecar of a run does")
	flags.IntVar(&o.health.failures, "fail-after", 3, "withdraw after so many failed probes in a row")
	flags.DurationVar(&o.health.every, "probe-every", 5*time.Second, "how often to probe what is published")
}

// server checks everything before it listens.
func (o *serveOptions) server() (*server, error) {
	list, err := o.pubs.complete()
	if err := errors.Join(err, checkListen(o.listen), o.check()); err != nil {
		return nil, usageError{err}
	}
	store, err := o.open()
	if err != nil {
		return nil, err
	}
	folder, err := o.folder()
	if err != nil {
		return nil, err
	}
	listener, err := listen(o.listen)
	if err != nil {
		return nil, err
	}
	return &server{listener, store, folder, o.metrics, list, o.health}, nil
}

func (o *serveOptions) check() error {
	var problems []error
	if o.fold && o.shards == 0 {
		problems = append(problems, errors.New("--fold needs --shards"))
	}
	if o.health.failures < 1 {
		problems = append(problems, fmt.Errorf("--fail-after %d: want at least 1", o.health.failures))
	}
	if o.health.every <= 0 {
		problems = append(problems, fmt.Errorf("--probe-every %s: want more than 0", o.health.every))
	}
	return errors.Join(problems...)
}

func (o *serveOptions) folder() (*registry.Folder, error) {
	if !o.fold {
		return nil, nil
	}
	cfg, restConfig, err := o.config()
	if err != nil {
		return nil, err
	}
	return registry.NewFolder(cfg, restConfig)
}

// run serves, publishes and folds until ctx ends, then withdraws what was published. Where this is the pod that folds,
// its successor carries the withdrawal into the run's ConfigMap.
func (s *server) run(ctx context.Context) error {
	klog.FromContext(ctx).Info("serving", "address", s.listener.Addr().String(), "registry", s.store.String(), "publications", len(s.publications), "folding", s.folder != nil)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return sidecar.Serve(ctx, s.listener, newHandler(s.store, s.metrics), probeTimeout) })
	for _, pub := range s.publications {
		p := publisher{pub, s.store, s.metrics, s.health}
		group.Go(func() error { return p.run(ctx) })
	}
	if s.folder != nil {
		group.Go(func() error { return s.folder.Run(ctx) })
	}
	return group.Wait()
}
