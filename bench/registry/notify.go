package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tandem-rl/tandem/bench/internal/figure"
	"github.com/tandem-rl/tandem/registry"
	"github.com/tandem-rl/tandem/test/podclient"
)

// notice is how long after the start of a write its waiters had the value.
type notice struct {
	How     string  `json:"how"`
	Waiters int     `json:"waiters"`
	Rounds  int     `json:"rounds"`
	Told    int     `json:"told"` // waiters, over all rounds
	P50Ms   float64 `json:"p50Ms"`
	P99Ms   float64 `json:"p99Ms"`
}

// waiting is a way to wait.
type waiting struct {
	name   string
	get    func(ctx context.Context, store *registry.Store, key string) error
	opens  int // watches of each waiter
	rounds map[int]int
}

var (
	watching = waiting{"library: one watch a waiter", watch, 1, map[int]int{1: 50, 100: 5, 1000: 3}}
	polling  = waiting{"a poll every 2 s", poll, 0, map[int]int{1: 5, 100: 1, 1000: 1}}
)

func watch(ctx context.Context, store *registry.Store, key string) error {
	_, err := store.Get(ctx, key)
	return err
}

// pollEvery is what NeMo-RL's class does.
const pollEvery = 2 * time.Second

// poll starts anywhere within its period, as pods do.
func poll(ctx context.Context, store *registry.Store, key string) error {
	phase := time.NewTimer(rand.N(pollEvery))
	defer phase.Stop()
	select {
	case <-phase.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if _, err := store.GetNow(ctx, key); !errors.Is(err, registry.ErrNotFound) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// oneWrite is the median time of one API write: a patch of a small ConfigMap by a client that does nothing else.
func (b *bench) oneWrite(ctx context.Context) (ms float64, err error) {
	s, err := b.newSite(ctx, 0)
	if err != nil {
		return 0, err
	}
	defer s.fleet.Close()
	p, err := s.newPlain(ctx)
	if err != nil {
		return 0, err
	}
	took := make([]time.Duration, 100)
	for i := range took {
		began := time.Now()
		if err := p.merge(ctx, "", map[string]string{"k": fmt.Sprint(i)}); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	return milliseconds(figure.Quantile(took, 0.5)), s.remove(ctx)
}

// notify publishes one key after the other to n waiters.
func (b *bench) notify(ctx context.Context, how waiting, n int) (notice, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := b.newSite(ctx, 0)
	if err != nil {
		return notice{}, err
	}
	defer s.fleet.Close()
	publisher, err := s.newPublisher(ctx, 0)
	if err != nil {
		return notice{}, err
	}
	waiters := make([]*registry.Store, n)
	err = inParallel(n, func(i int) (err error) {
		waiters[i], err = s.newReader(ctx)
		return err
	})
	if err != nil {
		return notice{}, err
	}
	var took []time.Duration
	for round := range how.rounds[n] {
		more, err := s.tell(ctx, how, publisher, waiters, key(round))
		if err != nil {
			return notice{}, err
		}
		took = append(took, more...)
	}
	return notice{
		How: how.name, Waiters: n, Rounds: how.rounds[n], Told: len(took),
		P50Ms: milliseconds(figure.Quantile(took, 0.50)), P99Ms: milliseconds(figure.Quantile(took, 0.99)),
	}, s.remove(ctx)
}

// tell publishes one key once everybody waits for it, and returns how long after the start of the write each had it.
func (s *site) tell(ctx context.Context, how waiting, publisher *registry.Store, waiters []*registry.Store, key string) ([]time.Duration, error) {
	watches := s.fleet.Watches()
	had := make([]time.Time, len(waiters))
	errs := make([]error, len(waiters))
	var group sync.WaitGroup
	for i, waiter := range waiters {
		group.Go(func() {
			errs[i] = how.get(ctx, waiter, key)
			had[i] = time.Now()
		})
	}
	err := s.awaitWatches(ctx, watches+how.opens*len(waiters))
	began := time.Now()
	err = errors.Join(err, publisher.Set(ctx, key, value(0)))
	group.Wait()
	took := make([]time.Duration, len(waiters))
	for i := range waiters {
		took[i] = had[i].Sub(began)
	}
	return took, errors.Join(append(errs, err)...)
}

// awaitWatches waits until the server has opened so many watches for the pods of the run.
func (s *site) awaitWatches(ctx context.Context, n int) error {
	err := podclient.Until(ctx, func() bool { return s.fleet.Watches() >= n })
	if err != nil {
		return fmt.Errorf("%d of %d watches are open: %w", s.fleet.Watches(), n, err)
	}
	return nil
}
