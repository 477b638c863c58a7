package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tandem-rl/tandem/registry"
)

// algorithm is a way to write when many do.
type algorithm struct {
	name    string
	joiners bool // all write to one key
	shards  func(writers int) int
	rounds  func(writers int) int
	prepare func(ctx context.Context, s *site, writers int) (*field, error)
}

var (
	library     = algorithm{name: "library", shards: registry.Shards, rounds: often, prepare: setters}
	libraryJoin = algorithm{name: "library, one list", joiners: true, shards: registry.Shards, rounds: often, prepare: joiners}
	fiveTries   = algorithm{name: "read, patch, 5 tries", shards: unsharded, rounds: rarely, prepare: plainly((*plain).fiveTries)}
	blindPatch  = algorithm{name: "patch of the key", shards: unsharded, rounds: rarely, prepare: plainly((*plain).blindPatch)}
)

func unsharded(int) int { return 0 }

// often and rarely are numbers of rounds: a contest of two is over in a few milliseconds.
func often(writers int) int { return max(3, rarely(writers)) }

func rarely(writers int) int {
	switch {
	case writers <= 10:
		return 9
	case writers <= 50:
		return 3
	default:
		return 1
	}
}

const listKey = "vllm_base_urls"

func key(i int) string { return fmt.Sprintf("server-%04d", i) }

func value(i int) string { return fmt.Sprintf("http://10.0.%d.%d:8000/v1", i/250, i%250+1) }

// next is what the ith of the writes holds that come one after the other.
func (a algorithm) next(i int) map[string]string {
	if !a.joiners {
		return map[string]string{key(i): value(i)}
	}
	members := make([]string, i+1)
	for j := range members {
		members[j] = value(j)
	}
	raw, _ := json.Marshal(members) // strings always encode
	return map[string]string{listKey: string(raw)}
}

// landed tells whether what writer i wrote is there.
func (a algorithm) landed(data map[string]string, i int) bool {
	if !a.joiners {
		return data[key(i)] == value(i)
	}
	members, err := registry.Members(data[listKey])
	return err == nil && slices.Contains(members, value(i))
}

func setters(ctx context.Context, s *site, n int) (*field, error) {
	return s.publishers(ctx, n,
		func(ctx context.Context, store *registry.Store, i int) error { return store.Set(ctx, key(i), value(i)) },
		func(list []registry.Endpoint) bool { return len(list) == n })
}

func joiners(ctx context.Context, s *site, n int) (*field, error) {
	return s.publishers(ctx, n,
		func(ctx context.Context, store *registry.Store, i int) error {
			return store.Join(ctx, listKey, value(i))
		},
		func(list []registry.Endpoint) bool {
			if len(list) == 0 {
				return false
			}
			members, err := registry.Members(list[0].Value)
			return err == nil && len(members) == n
		})
}

// publishers is a field of stores, with the folder of a run of that size and one reader.
func (s *site) publishers(ctx context.Context, n int, write func(context.Context, *registry.Store, int) error, all func([]registry.Endpoint) bool) (*field, error) {
	f := &field{writers: make([]func(context.Context) error, n)}
	err := inParallel(n, func(i int) error {
		store, err := s.newPublisher(ctx, i)
		f.writers[i] = func(ctx context.Context) error { return write(ctx, store, i) }
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var background errgroup.Group
	f.stop = func() {
		cancel()
		_ = background.Wait() // ended because it was told to
	}
	watches := s.cfg.Shards + 1
	if s.cfg.Shards > 0 {
		folder, err := registry.NewFolder(s.cfg, s.newPod())
		if err != nil {
			return nil, err
		}
		background.Go(func() error { return folder.Run(ctx) })
		watches++
	}
	reader, err := s.newReader(ctx)
	if err != nil {
		return nil, err
	}
	seen := make(chan struct{})
	background.Go(func() error {
		for list, err := range reader.Watch(ctx) {
			if err != nil {
				return err
			}
			if all(list) {
				close(seen)
				return nil
			}
		}
		return nil
	})
	f.seen = func(ctx context.Context) {
		select {
		case <-seen:
		case <-ctx.Done():
		}
	}
	return f, s.awaitWatches(ctx, watches)
}

// inParallel does all, a few at a time.
func inParallel(n int, do func(int) error) error {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}
