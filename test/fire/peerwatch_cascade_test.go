package fire

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/internal/faultyapi"
	"github.com/tandem-rl/tandem/test/fakeray"
	"github.com/tandem-rl/tandem/test/podprocess"
)

// TestPeerwatchKilledInACascadeFinishesItWhenItIsBack: all watchers are killed after so many of the four deletions. Those
// whose pods are left are started again.
func TestPeerwatchKilledInACascadeFinishesItWhenItIsBack(t *testing.T) {
	t.Parallel()
	for _, allowed := range []int64{0, 1, 2} {
		t.Run(fmt.Sprintf("after %d deletions", allowed), func(t *testing.T) {
			t.Parallel()
			proxy := newProxy(t)
			c := newCast(t, proxy.API, fakeray.Script{Name: fmt.Sprintf("killed-%d", allowed), Clusters: 3})
			refused := &atomic.Int64{}
			proxy.Inject(refuseDeletions(allowed, refused))
			require.NoError(t, c.RestartHead(c.ctx, 1))
			c.until(t, "the cascade has stopped", func() bool { return refused.Load() > 6 })
			before, err := c.Reported(c.ctx)
			require.NoError(t, err)
			require.Contains(t, before, "restarted")
			for _, w := range c.watchers {
				w.Signal(syscall.SIGKILL)
				<-w.Done()
			}
			left, err := c.Left(c.ctx)
			require.NoError(t, err)
			require.Len(t, left, 4-int(allowed), "clusters and driver that are left")

			proxy.Inject(nil)
			restarted := c.restart(t, left)
			c.requireDown(t, before)
			c.requireCascaded(t, restarted...)
		})
	}
}

// refuseDeletions lets so many deletions of objects through.
func refuseDeletions(allowed int64, count *atomic.Int64) faultyapi.Fault {
	deleted := map[string]bool{}
	return func(req *http.Request) *http.Response {
		if req.Method != http.MethodDelete || deleted[req.URL.Path] {
			return nil
		}
		if int64(len(deleted)) < allowed {
			deleted[req.URL.Path] = true
			return nil
		}
		count.Add(1)
		return podprocess.Refusal(req, http.StatusServiceUnavailable)
	}
}

// restart starts the watchers of the clusters that are left, as the kubelet does.
func (c *cast) restart(t *testing.T, left []string) (restarted []int) {
	t.Helper()
	for i := range c.watchers {
		for _, name := range left {
			if name == c.Cluster(i) {
				c.start(t, i)
				restarted = append(restarted, i)
			}
		}
	}
	return restarted
}

// TestPeerwatchWaitsForAPeerThatComesLate plays an hour of a grace of two in ten seconds of twenty: the watchers' clock
// is real. That the decision is the same for an hour is a case of its own table.
func TestPeerwatchWaitsForAPeerThatComesLate(t *testing.T) {
	t.Parallel()
	const anHour = 10 * time.Second
	script := fakeray.Script{Name: "late", Clusters: 2, Late: []int{1}, StartupGrace: 2 * anHour}
	late := newCrew(t, admin, script)
	script.Name, script.StartupGrace = "never", anHour
	never := newCrew(t, admin, script)
	for _, c := range []*cast{late, never} {
		c.start(t, 0)
	}
	never.requireDown(t, "has not appeared within 10s") // an hour has passed
	never.requireCascaded(t, 0)

	require.False(t, late.watchers[0].Ended())
	require.NoError(t, late.Create(late.ctx, 1))
	late.start(t, 1)
	late.requireItStillBites(t)
}

// TestPeerwatchSeesThatAPeerWasDeletedAndMadeAgainAtOnce: a watcher that looks now and then would see a peer that is well.
func TestPeerwatchSeesThatAPeerWasDeletedAndMadeAgainAtOnce(t *testing.T) {
	t.Parallel()
	c := newCast(t, admin, fakeray.Script{Name: "again", Clusters: 2})
	began := time.Now()
	require.NoError(t, c.Delete(c.ctx, 1))
	require.NoError(t, client.IgnoreNotFound(c.Create(c.ctx, 1)), "it may be deleted again before its head is reported ready")
	t.Logf("deleted and made again, with a head that is ready, in %s", time.Since(began).Round(time.Millisecond))
	c.requireDown(t, c.Cluster(1))
	c.requireCascaded(t, 0)
}

// TestPeerwatchOnANodeThatIsLostIsAvengedByItsPeers: the node takes the head and its watcher with it.
func TestPeerwatchOnANodeThatIsLostIsAvengedByItsPeers(t *testing.T) {
	t.Parallel()
	stage, err := fakeray.NewStage(admin)
	require.NoError(t, err)
	require.NoError(t, stage.CreateNode(t.Context(), "lost"))
	c := newCast(t, admin, fakeray.Script{Name: "node", Clusters: 3, Nodes: map[int]string{1: "lost"}})
	c.watchers[1].Signal(syscall.SIGKILL)
	<-c.watchers[1].Done()
	c.requireDown(t, c.Head(1))
	c.requireCascaded(t, 0, 2)
}
