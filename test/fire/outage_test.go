package fire

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of this file take the API server away from everybody, so they do not run beside others.

// end ends a process of the cluster. start starts it again, at the latest when the test has ended.
func (s *scene) end(t *testing.T, how func(context.Context, string) error, process string) (start func()) {
	t.Helper()
	require.NoError(t, how(s.ctx, process))
	start = sync.OnceFunc(func() {
		require.NoError(t, cluster.StartProcess(context.WithoutCancel(s.ctx), process))
	})
	t.Cleanup(start)
	return start
}

func TestAnAPIServerThatIsAwayFor30SecondsCostsNeitherAWriteNorAWait(t *testing.T) {
	s := newScene(t, 0, everything...)
	scribes, stop := s.scribes(t, 4)
	before := s.waiters(t, 8, "late")
	s.awaitMore(t, scribes)

	start := s.end(t, cluster.KillProcess, "kube-apiserver")
	writes := make(chan error, 8)
	for i := range cap(writes) {
		store := s.store(t, fmt.Sprintf("during-%d", i))
		go func() { writes <- store.Set(s.ctx, fmt.Sprintf("during-%d", i), "here") }()
	}
	during := s.waiter(s.ctx, s.store(t, "during"), "late")
	s.requireInTime(t, func(ctx context.Context) error { return s.store(t, "hasty").Set(ctx, "hasty", "x") })
	s.requireInTime(t, func(ctx context.Context) error { _, err := s.store(t, "hasty").Get(ctx, "late"); return err })
	s.pause(t, 30*time.Second)
	start()
	back := time.Now()

	for range cap(writes) {
		require.NoError(t, <-writes)
	}
	t.Logf("writes that had waited landed within %s", time.Since(back).Round(time.Millisecond))
	s.awaitMore(t, scribes)
	require.NoError(t, s.store(t, "publisher").Set(s.ctx, "late", "http://10.0.0.1:80"))
	for _, w := range append(before, during) {
		w.requireValue(t, "http://10.0.0.1:80")
	}
	t.Logf("everybody who waited was told within %s", time.Since(back).Round(time.Millisecond))
	stop()
	for i := range cap(writes) {
		require.Equal(t, "here", s.data(t)[fmt.Sprintf("during-%d", i)])
	}
}

func TestWhatWasAcknowledgedSurvivesAnEtcdThatIsKilledOrRestarted(t *testing.T) {
	s := newScene(t, 0, everything...)
	scribes, stop := s.scribes(t, 4)
	waiters := s.waiters(t, 8, "late")
	for _, end := range []func(context.Context, string) error{cluster.KillProcess, cluster.StopProcess} {
		s.awaitMore(t, scribes)
		start := s.end(t, end, "etcd")
		s.pause(t, 2*time.Second)
		start()
		back := time.Now()
		s.awaitMore(t, scribes)
		t.Logf("all write again %s after etcd is back", time.Since(back).Round(time.Millisecond))
	}
	require.NoError(t, s.store(t, "publisher").Set(s.ctx, "late", "http://10.0.0.1:80"))
	for _, w := range waiters {
		w.requireValue(t, "http://10.0.0.1:80")
	}
	stop()
}
