package fire

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/faultyapi"
	"github.com/tandem-rl/tandem/test/fakeray"
	"github.com/tandem-rl/tandem/test/podprocess"
)

// TestPeerwatchTakesNoRefusalForAFailure: while everything is refused for far longer than a head may be unready, runs
// stay whole; each is taken down later when there is a reason.
func TestPeerwatchTakesNoRefusalForAFailure(t *testing.T) {
	t.Parallel()
	codes := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	casts := make([]*cast, len(codes))
	refused := make([]*atomic.Int64, len(codes))
	proxies := make([]*faultyapi.Requests, len(codes))
	for i, code := range codes {
		proxy := newProxy(t)
		proxy.CutWatches(time.Second) // a watch that is open is not refused
		casts[i] = newCast(t, proxy.API, fakeray.Script{Name: fmt.Sprintf("storm-%d", code), Clusters: 2})
		proxies[i], refused[i] = proxy.Requests, &atomic.Int64{}
		proxy.Inject(refuseAll(code, refused[i]))
	}
	for i, c := range casts {
		c.requireBlind(t)
		c.until(t, "a storm", func() bool { return refused[i].Load() > 60 })
	}
	for i, c := range casts {
		c.requireBlind(t)
		proxies[i].Inject(nil)
		c.requireItStillBites(t)
	}
}

func refuseAll(code int, count *atomic.Int64) faultyapi.Fault {
	return func(req *http.Request) *http.Response {
		count.Add(1)
		return podprocess.Refusal(req, code)
	}
}

func TestPeerwatchOutlivesItsTokenAndReadsTheNextOne(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t)
	proxy.CutWatches(time.Second)
	c := newCrew(t, proxy.API, fakeray.Script{Name: "token", Clusters: 2})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: c.Metadata.Namespace}}
	require.NoError(t, c.stage.Create(c.ctx, secret))
	old, err := c.Token(c.ctx, secret)
	require.NoError(t, err)
	require.NoError(t, c.pod.Rotate(old))
	c.start(t, 0)
	c.start(t, 1)
	c.requireReady(t)

	require.NoError(t, c.stage.Delete(c.ctx, secret))
	c.requireBlind(t)
	c.until(t, "the server says why", func() bool { return c.watchers[0].Says("Unauthorized") })
	next, err := c.Token(c.ctx, nil)
	require.NoError(t, err)
	require.NoError(t, c.pod.Rotate(next))
	c.requireItStillBites(t)
}

func TestPeerwatchWhoseWatchesAreClosedEverySecondSeesNothingElse(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t)
	proxy.CutWatches(time.Second)
	c := newCast(t, proxy.API, fakeray.Script{Name: "watches", Clusters: 2})
	before := proxy.Of("WATCH")
	c.until(t, "a hundred watches", func() bool { return proxy.Of("WATCH") > before+100 })
	c.requireItStillBites(t)
}

// TestPeerwatchDoesNotMindAThousandOtherPods: half of them have nothing to do with Ray, half are heads and workers of
// another cluster whose name begins as the peer's does.
func TestPeerwatchDoesNotMindAThousandOtherPods(t *testing.T) {
	t.Parallel()
	c := newCast(t, admin, fakeray.Script{Name: "churn", Clusters: 2})
	const pods, atOnce = 1000, 8
	errs := make(chan error, atOnce)
	for worker := range atOnce {
		go func() {
			for i := worker; i < pods; i += atOnce {
				if err := c.liveAndDie(i); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range atOnce {
		require.NoError(t, <-errs)
	}
	c.requireItStillBites(t)
}

// liveAndDie makes a pod whose container fails and is started again, and deletes it.
func (c *cast) liveAndDie(i int) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("other-%d", i), Namespace: c.Metadata.Namespace},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody", Containers: []corev1.Container{{Name: "ray", Image: "other"}},
			// It is there; the namespace's default one is made in its own time.
			ServiceAccountName: v1alpha1.RegistryAccountName(c.Metadata.Name),
		},
	}
	if i%2 == 0 {
		pod.Labels = map[string]string{"ray.io/cluster": c.Cluster(1) + "-other", "ray.io/node-type": []string{"head", "worker"}[i/2%2]}
	}
	if err := c.stage.Create(c.ctx, pod); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "ray", RestartCount: 1,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
	}}
	if err := c.stage.Status().Update(c.ctx, pod); err != nil {
		return err
	}
	return c.stage.Delete(c.ctx, pod, client.GracePeriodSeconds(0))
}
