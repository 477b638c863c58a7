package fire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/registry"
)

func TestWritersOfAConfigMapThatIsDeletedAreToldAndWriteAgainOnceItIsBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, 0, everything...)
	scribes, stop := s.scribes(t, 4, registry.ErrNotFound)
	waiters := s.waiters(t, 4, "late")
	for range 3 {
		s.awaitMore(t, scribes)
		s.delete(t)
		err := s.store(t, "asking").Set(s.ctx, "asking", "x")
		require.ErrorIs(t, err, registry.ErrNotFound)
		require.ErrorContains(t, err, s.Name())
		require.ErrorContains(t, err, "tandem up")
		s.create(t, s.Name())
	}
	s.awaitMore(t, scribes)
	require.NoError(t, s.store(t, "publisher").Set(s.ctx, "late", "http://10.0.0.1:80"))
	for _, w := range waiters {
		w.requireValue(t, "http://10.0.0.1:80")
	}
	stop()
}

func TestARunsConfigMapThatIsDeletedIsFoldedAgainFromItsShards(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, everything...)
	s.fold(t)
	scribes, stop := s.scribes(t, 8)
	for range 3 {
		s.awaitMore(t, scribes)
		s.requireAcknowledged(t, scribes)
		s.delete(t)
		s.create(t, s.Name())
		s.requireAcknowledged(t, scribes)
	}
	stop()
}
