package main

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tandem-rl/tandem/bench/internal/figure"
)

// contest is what came of n writers at once.
type contest struct {
	Algorithm string  `json:"algorithm"`
	Joiners   bool    `json:"joiners,omitempty"`
	Writers   int     `json:"writers"`
	Shards    int     `json:"shards"`
	Rounds    int     `json:"rounds"` // of which this is the median by wall against floor, or one that lost something
	Landed    int     `json:"landed"` // are in the run's ConfigMap
	Failed    int     `json:"failed"` // writers that were told so
	Lost      int     `json:"lost"`   // acknowledged, and not there
	WallMs    float64 `json:"wallMs"`
	FloorMs   float64 `json:"floorMs"`
	Ratio     float64 `json:"wallPerFloor"`
	Refused   int     `json:"refused"`  // tries answered 409
	Busy      int     `json:"busy"`     // tries answered 429
	Requests  int     `json:"requests"` // of the writers, the folder and the reader, after the start
	P50Ms     float64 `json:"p50Ms"`    // until a writer's call returned
	P99Ms     float64 `json:"p99Ms"`
}

// patience bounds each contest. The API server itself gives up on a request after 34 seconds.
const patience = 2 * time.Minute

// contest measures rounds, each against its own floor, and returns the median one.
func (b *bench) contest(ctx context.Context, a algorithm, n int) (contest, error) {
	rounds := make([]contest, a.rounds(n))
	for i := range rounds {
		floor, err := b.floor(ctx, a, n)
		if err != nil {
			return contest{}, err
		}
		if rounds[i], err = b.round(ctx, a, n); err != nil {
			return contest{}, err
		}
		rounds[i].FloorMs, rounds[i].Rounds = floor, len(rounds)
		rounds[i].Ratio = rounds[i].WallMs / floor
	}
	slices.SortFunc(rounds, func(x, y contest) int {
		return cmp.Or(cmp.Compare(x.Lost, y.Lost), cmp.Compare(y.Landed, x.Landed), cmp.Compare(x.Ratio, y.Ratio))
	})
	if worst := rounds[len(rounds)-1]; mayNotLose(a.name) && worst.Landed < n {
		return worst, nil
	}
	return rounds[len(rounds)/2], nil
}

// floor is how long the same number of writes takes one after the other: by one client that reads nothing, into one
// ConfigMap that holds nothing else.
func (b *bench) floor(ctx context.Context, a algorithm, n int) (ms float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := b.newSite(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer s.fleet.Close()
	alone, err := s.newPlain(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for i := range n {
		if err := alone.merge(ctx, "", a.next(i)); err != nil {
			return 0, err
		}
	}
	return milliseconds(time.Since(began)), s.remove(ctx)
}

// round is one contest without its floor.
func (b *bench) round(ctx context.Context, a algorithm, n int) (contest, error) {
	s, err := b.newSite(ctx, a.shards(n))
	if err != nil {
		return contest{}, err
	}
	defer s.fleet.Close()
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f, err := a.prepare(bounded, s, n)
	if err != nil {
		return contest{}, err
	}
	before := s.fleet.Answers()
	result := f.start(bounded)
	result.Algorithm, result.Joiners, result.Shards = a.name, a.joiners, s.cfg.Shards
	result.Refused, result.Busy = s.fleet.Status(http.StatusConflict), s.fleet.Status(http.StatusTooManyRequests)
	result.Requests = s.fleet.Answers() - before
	if f.stop != nil {
		f.stop()
	}
	data, err := s.data(ctx)
	if err != nil {
		return result, err
	}
	for i, told := range f.told {
		switch {
		case a.landed(data, i):
			result.Landed++
		case told == nil:
			result.Lost++
		}
	}
	return result, s.remove(ctx)
}

// field is where a contest takes place: writers whose connections are open.
type field struct {
	writers []func(context.Context) error
	told    []error // what each was told
	// seen, where set, returns when a client that reads only the run's ConfigMap sees everything, or ctx ends.
	seen func(context.Context)
	stop func()
}

// start lets all writers go at once. The wall ends when everything is seen or, where writers failed, when the last of
// them knows.
func (f *field) start(ctx context.Context) contest {
	f.told = make([]error, len(f.writers))
	took := make([]time.Duration, len(f.writers))
	gate := make(chan struct{})
	var group sync.WaitGroup
	for i, write := range f.writers {
		group.Go(func() {
			<-gate
			began := time.Now()
			f.told[i] = write(ctx)
			took[i] = time.Since(began)
		})
	}
	began := time.Now()
	close(gate)
	group.Wait()
	failed := 0
	for _, told := range f.told {
		if told != nil {
			failed++
		}
	}
	if failed == 0 && f.seen != nil {
		f.seen(ctx)
	}
	wall := time.Since(began)
	if failed > 0 && f.seen != nil {
		f.seenSoon(ctx)
	}
	return contest{
		Writers: len(f.writers), Failed: failed, WallMs: milliseconds(wall),
		P50Ms: milliseconds(figure.Quantile(took, 0.50)), P99Ms: milliseconds(figure.Quantile(took, 0.99)),
	}
}

// seenSoon gives what was acknowledged beside failures time to appear, so that it does not count as lost.
func (f *field) seenSoon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	f.seen(ctx)
}
