package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tandem-rl/tandem/bench/internal/figure"
)

// polled is what the polling watcher made of the same kills, with two clusters: it knows one peer.
type polled struct {
	Cells  []polledCell `json:"cells"`
	P50S   float64      `json:"p50S"`   // of what it noticed
	Missed int          `json:"missed"` // of all trials
	Trials int          `json:"trials"`
}

type polledCell struct {
	Kill   string  `json:"kill"`
	Trials int     `json:"trials"`
	Missed int     `json:"missed"`
	P50S   float64 `json:"p50S"`
	P99S   float64 `json:"p99S"`
}

// pollPatience is as long as the polling watcher takes at most for whatever it notices: a look that has just gone by, and
// all strikes.
const pollPatience = (maxStrikes + 1) * pollEvery

// polling plays all trials at once: they cost little, and take their time.
func (b *bench) polling(ctx context.Context, trials int) (polled, error) {
	runs, err := b.newFlock(ctx, trials*len(kills), b.server.Config)
	if err != nil {
		return polled{}, err
	}
	var mu sync.Mutex
	took := map[string][]time.Duration{}
	var group errgroup.Group
	for i, run := range runs {
		k := kills[i%len(kills)]
		group.Go(func() error {
			o, err := b.pollingTrial(ctx, k, run)
			mu.Lock()
			defer mu.Unlock()
			if o.fell {
				took[k.name] = append(took[k.name], o.took)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return polled{}, err
	}
	return summarize(trials, took), nil
}

func summarize(trials int, took map[string][]time.Duration) polled {
	var p polled
	var noticed []time.Duration
	for _, k := range kills {
		times := took[k.name]
		noticed = slices.Concat(noticed, times)
		c := polledCell{Kill: k.name, Trials: trials, Missed: trials - len(times)}
		c.P50S, c.P99S = figure.Quantile(times, 0.50).Seconds(), figure.Quantile(times, 0.99).Seconds()
		p.Cells = append(p.Cells, c)
		p.Trials, p.Missed = p.Trials+trials, p.Missed+c.Missed
	}
	p.P50S = figure.Quantile(noticed, 0.50).Seconds()
	return p
}

func (b *bench) pollingTrial(ctx context.Context, k kill, run polledRun) (outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := make([]context.CancelFunc, len(run.pollers))
	var group errgroup.Group
	defer func() { cancel(); _ = group.Wait() }() // they end with ctx
	for i, p := range run.pollers {
		var own context.Context
		own, alive[i] = context.WithCancel(ctx)
		group.Go(func() error { return p.run(own) })
	}
	if err := pause(ctx, 2*pollEvery+rand.N(pollEvery)); err != nil { // at any moment, once both poll
		return outcome{}, err
	}
	return b.follow(ctx, k, run.Run, k.clusters(run.Run), pollPatience, func() {
		if k.takesCluster {
			alive[victim]()
		}
	})
}
