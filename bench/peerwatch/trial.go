package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/bench/internal/figure"
	"github.com/tandem-rl/tandem/test/fakeray"
	"github.com/tandem-rl/tandem/test/podclient"
)

// victim is the cluster that is killed: not the driver's.
const victim = 1

// kill is a way for a run to fail.
type kill struct {
	name string
	// grace is how long the watchers are to wait; zero for what cannot heal.
	grace time.Duration
	// takesPod: the victim's watcher is told to stop, as its pod ends. takesCluster: its RayCluster is gone already.
	takesPod, takesCluster bool
	do                     func(ctx context.Context, r *fakeray.Run) error
}

const unreadyGrace = 5 * time.Second

var kills = []kill{
	{name: "head container restarted", do: func(ctx context.Context, r *fakeray.Run) error { return r.RestartHead(ctx, victim) }},
	{name: "head pod deleted", takesPod: true, do: func(ctx context.Context, r *fakeray.Run) error { return r.ReplaceHead(ctx, victim) }},
	{name: "RayCluster deleted", takesPod: true, takesCluster: true, do: func(ctx context.Context, r *fakeray.Run) error { return r.Delete(ctx, victim) }},
	{name: "error key set", do: func(ctx context.Context, r *fakeray.Run) error { return r.Fail(ctx, "out of memory") }},
	{name: "head unready", grace: unreadyGrace, do: func(ctx context.Context, r *fakeray.Run) error { return r.UnreadyHead(ctx, victim) }},
}

// soft tells whether the kill may heal.
func (k kill) soft() bool { return k.grace > 0 }

// clusters are those of the run that are still to be deleted after the kill.
func (k kill) clusters(r *fakeray.Run) []string {
	var names []string
	for i := range r.Spec.Clusters {
		if !k.takesCluster || i != victim {
			names = append(names, r.Cluster(i))
		}
	}
	return names
}

// cell is what came of all trials of one kill with so many clusters. For a soft one the times begin when its grace ends.
type cell struct {
	Kill     string  `json:"kill"`
	Soft     bool    `json:"soft,omitempty"`
	Clusters int     `json:"clusters"`
	Trials   int     `json:"trials"`
	Missed   int     `json:"missed"` // not taken down whole
	False    int     `json:"false"`  // something was deleted before the kill
	P50Ms    float64 `json:"p50Ms"`
	P99Ms    float64 `json:"p99Ms"`
}

// atOnce is how many watchers run at a time.
const atOnce = 120

// cell makes runs in advance, and plays one trial after the other on them.
func (b *bench) cell(ctx context.Context, k kill, clusters, trials int) (cell, error) {
	c := cell{Kill: k.name, Soft: k.soft(), Clusters: clusters, Trials: trials}
	grace := k.grace
	if !k.soft() {
		grace = hour
	}
	var took []time.Duration
	for left := trials; left > 0; {
		n := min(left, max(1, atOnce/clusters))
		left -= n
		teams, err := b.newTeams(ctx, n, clusters, grace, b.server.Config)
		if err != nil {
			return c, err
		}
		results, err := b.trials(ctx, k, teams)
		if err != nil {
			return c, err
		}
		for _, result := range results {
			if result.early {
				c.False++
			}
			if result.fell {
				took = append(took, result.took-k.grace)
			} else {
				c.Missed++
			}
		}
	}
	c.P50Ms, c.P99Ms = milliseconds(figure.Quantile(took, 0.50)), milliseconds(figure.Quantile(took, 0.99))
	return c, nil
}

// apart is the time between soft kills, whose graces would otherwise be waited out one after the other. The cascades
// that follow must not meet.
const apart = time.Second

// trials plays one trial after the other; soft ones overlap.
func (b *bench) trials(ctx context.Context, k kill, teams []*team) ([]outcome, error) {
	results := make([]outcome, len(teams))
	errs := make(chan error, len(teams))
	for i, t := range teams {
		play := func() (err error) {
			results[i], err = b.trial(ctx, k, t)
			return err
		}
		if !k.soft() {
			errs <- play()
			continue
		}
		go func() { errs <- play() }()
		if err := pause(ctx, apart); err != nil {
			return nil, err
		}
	}
	var all []error
	for range teams {
		all = append(all, <-errs)
	}
	return results, errors.Join(all...)
}

// outcome is what came of one trial.
type outcome struct {
	early, fell bool
	took        time.Duration // from before the kill was asked for until the server accepted the last deletion
}

// trial kills one run, and returns when its watchers have ended.
func (b *bench) trial(ctx context.Context, k kill, t *team) (outcome, error) {
	names := append(k.clusters(t.Run), v1alpha1.DriverJobName(t.Metadata.Name))
	o, err := b.follow(ctx, k, t.Run, names, k.grace+patience, func() {
		if k.takesPod {
			t.watchers[victim].Signal(syscall.SIGTERM)
		}
	})
	if err != nil {
		return o, err
	}
	return o, t.end(ctx)
}

// follow kills a run and waits until what is named is deleted, or patience ends.
func (b *bench) follow(ctx context.Context, k kill, r *fakeray.Run, names []string, patience time.Duration, also func()) (outcome, error) {
	before, err := b.audit.deletions(r.Metadata.Namespace)
	if err != nil {
		return outcome{}, err
	}
	began := time.Now()
	if err := k.do(ctx, r); err != nil {
		return outcome{}, fmt.Errorf("%s: %w", k.name, err)
	}
	also()
	o := outcome{early: len(before) > 0}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	waited := podclient.Until(bounded, func() bool {
		var deletions []request
		if deletions, err = b.audit.deletions(r.Metadata.Namespace); err != nil {
			return true
		}
		var last time.Time
		last, o.fell = lastDelete(deletions, names)
		o.took = last.Sub(began)
		return o.fell
	})
	if waited != nil && ctx.Err() != nil {
		return o, ctx.Err()
	}
	return o, err
}

// end waits until all watchers have ended. One that still watches is killed, as its pod would be by now.
func (t *team) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, w := range t.watchers {
		select {
		case <-w.Done():
		case <-ctx.Done():
			w.Signal(syscall.SIGKILL)
			<-w.Done()
			return fmt.Errorf("watcher of %s does not end:\n%s", w.Name, w.Log())
		}
	}
	return nil
}

// stop tells all watchers to end, as the kubelet does.
func (t *team) stop(ctx context.Context) error {
	for _, w := range t.watchers {
		w.Signal(syscall.SIGTERM)
	}
	return t.end(ctx)
}
