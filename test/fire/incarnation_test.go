package fire

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tandem-rl/tandem/registry"
)

func TestAReaderOfTheNewAttemptNeverSeesWhatTheOldOneStillWrites(t *testing.T) {
	for shards, name := range map[int]string{0: "one ConfigMap", 3: "shards"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, shards, everything...)
			if shards > 0 {
				s.fold(t)
			}
			overlap(t, s)
		})
	}
}

func (s *scene) attempt(t *testing.T, incarnation, pod string) *registry.Store {
	t.Helper()
	cfg := s.Config
	cfg.Incarnation = incarnation
	return s.storeWith(t, cfg, s.pod, incarnation+"-"+pod)
}

// overlap plays a restart of a run whose old pods do not know yet: they write until they are refused.
func overlap(t *testing.T, s *scene) {
	const pods = 6
	require.NoError(t, s.attempt(t, "old", "driver").Reset(s.ctx, "old"))
	var old errgroup.Group
	for i := range pods {
		store := s.attempt(t, "old", fmt.Sprint(i))
		require.NoError(t, store.Set(s.ctx, fmt.Sprintf("key-%d", i), "old"))
		old.Go(func() error { return s.writeUntilRefused(store, i) })
	}

	reader := s.attempt(t, "new", "reader")
	seen := make(chan error, 1)
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	go func() { seen <- anythingOld(ctx, reader) }()
	early := s.waiter(s.ctx, s.attempt(t, "new", "early"), "key-0")

	require.NoError(t, s.attempt(t, "new", "driver").Reset(s.ctx, "new"))
	for i := range pods {
		store := s.attempt(t, "new", fmt.Sprint(i))
		require.NoError(t, store.Set(s.ctx, fmt.Sprintf("key-%d", i), "new"))
		require.NoError(t, store.Join(s.ctx, "members", fmt.Sprintf("new-%d", i)))
	}
	require.ErrorIs(t, old.Wait(), registry.ErrStale)
	early.requireValue(t, "new")
	s.until(t, "all of the new attempt is there, and nothing else", func() bool {
		data := s.data(t)
		return len(data) == pods+1 && !strings.Contains(fmt.Sprint(data), "old")
	})
	stop()
	require.NoError(t, <-seen)
}

func (s *scene) writeUntilRefused(store *registry.Store, i int) error {
	for n := 0; ; n++ {
		if err := store.Set(s.ctx, fmt.Sprintf("key-%d", i), fmt.Sprintf("old-%d", n)); err != nil {
			return err
		}
		if err := store.Join(s.ctx, "members", fmt.Sprintf("old-%d", i)); err != nil {
			return err
		}
	}
}

// anythingOld returns an error as soon as the reader sees something of the old attempt, nil when ctx ends.
func anythingOld(ctx context.Context, reader *registry.Store) error {
	for list, err := range reader.Watch(ctx) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if text := fmt.Sprint(list); strings.Contains(text, "old") {
			return fmt.Errorf("seen: %s", text)
		}
	}
	return nil
}
