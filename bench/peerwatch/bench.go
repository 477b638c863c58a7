package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/bench/internal/figure"
	"github.com/tandem-rl/tandem/test/fakeray"
	"github.com/tandem-rl/tandem/test/podprocess"
)

// bench is the API server under measurement, and what runs on it.
type bench struct {
	server  *apiServer
	stage   *fakeray.Stage
	audit   *audit
	image   podprocess.Image
	program string
	runs    atomic.Int64 // how many there have been
	log     io.Writer
}

// newBench starts an API server; stop ends it.
func newBench(ctx context.Context, bin, dir string, log io.Writer) (b *bench, stop func() error, err error) {
	b = &bench{audit: &audit{}, program: filepath.Join(bin, "peerwatch"), log: log}
	b.say("kube-apiserver and etcd")
	if b.server, err = newAPIServer(ctx, bin, dir); err != nil {
		return nil, nil, err
	}
	if b.stage, err = fakeray.NewStage(b.server.Config); err == nil {
		err = b.audit.follow(ctx, b.server.log)
	}
	if err == nil {
		b.image, err = podprocess.NewImage(dir, b.program)
	}
	return b, b.server.Stop, err
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.log, "• "+format+"\n", args...) }

// hour bounds nothing: runs that are not about a grace have one that never ends here.
const hour = time.Hour

// patience bounds whatever should be over in a moment.
const patience = 30 * time.Second

// newRun makes one more run that is whole and healthy.
func (b *bench) newRun(ctx context.Context, clusters int, grace time.Duration) (*fakeray.Run, error) {
	return b.stage.Up(ctx, fakeray.Script{
		Name: fmt.Sprintf("run-%d", b.runs.Add(1)), Clusters: clusters, StartupGrace: hour, UnreadyGrace: grace,
	})
}

// team is a run with one watcher for each cluster, as in its pods.
type team struct {
	*fakeray.Run
	watchers []*podprocess.Process
}

// newTeam returns when all watchers see everything.
func (b *bench) newTeam(ctx context.Context, clusters int, grace time.Duration, api *rest.Config) (*team, error) {
	run, err := b.newRun(ctx, clusters, grace)
	if err != nil {
		return nil, err
	}
	token, err := run.Token(ctx, nil)
	if err != nil {
		return nil, err
	}
	pod, err := b.image.NewPod(api, run.Metadata.Namespace, token)
	if err != nil {
		return nil, err
	}
	t := &team{Run: run}
	for i := range clusters {
		watcher, err := pod.Start(ctx, run.Head(i), run.Watcher(i)...)
		if err != nil {
			return nil, err
		}
		t.watchers = append(t.watchers, watcher)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, watcher := range t.watchers {
		if err := watcher.Ready(ctx); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// newTeams makes several.
func (b *bench) newTeams(ctx context.Context, n, clusters int, grace time.Duration, api *rest.Config) ([]*team, error) {
	return several(n, func() (*team, error) { return b.newTeam(ctx, clusters, grace, api) })
}

// several makes n of a thing, a few at a time.
func several[T any](n int, one func() (T, error)) ([]T, error) {
	all := make([]T, n)
	var group errgroup.Group
	group.SetLimit(2 * runtime.NumCPU())
	for i := range all {
		group.Go(func() (err error) {
			all[i], err = one()
			return err
		})
	}
	return all, group.Wait()
}

// measure does everything: first what takes its time and costs little, all at once, then one trial after the other.
func (b *bench) measure(ctx context.Context, o options) (*report, error) {
	r := &report{Date: time.Now().UTC().Format(time.DateOnly), CPUs: runtime.NumCPU()}
	info, err := os.Stat(b.program)
	if err != nil {
		return nil, err
	}
	r.Sidecar.BinaryMiB = figure.Mebibytes(info.Size())
	b.say("idle watchers, storms, and the polling watcher")
	quiet, err := b.newTeam(ctx, 2, unreadyGrace, b.server.Config)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.Go(func() error { return b.idle(ctx, quiet, &r.Sidecar) })
	group.Go(func() (err error) { r.Polling, err = b.polling(ctx, o.trials); return err })
	r.Storms = make([]storm, len(refusals))
	for i, code := range refusals {
		group.Go(func() (err error) { r.Storms[i], err = b.storm(ctx, code, o.storm); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, clusters := range o.sizes {
		for _, k := range kills {
			b.say("%d clusters: %s", clusters, k.name)
			c, err := b.cell(ctx, k, clusters, o.trials)
			if err != nil {
				return nil, fmt.Errorf("%d clusters, %s: %w", clusters, k.name, err)
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r, nil
}

// pause lets time pass, which is what is measured here.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
