package peerwatch

import (
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// suspended tells of each part of the run whether it is to be suspended.
func (r testRun) suspended(t *testing.T) map[string]bool {
	t.Helper()
	is := map[string]bool{}
	for _, name := range []string{r.name + "-rl", r.name + "-gym"} {
		var c rayv1.RayCluster
		require.NoError(t, r.get(t, name, &c))
		is[name] = c.Spec.Suspend != nil && *c.Spec.Suspend
	}
	var driver batchv1.Job
	require.NoError(t, r.get(t, r.name+"-driver", &driver))
	is[r.name+"-driver"] = driver.Spec.Suspend != nil && *driver.Spec.Suspend
	return is
}

func (r testRun) suspend(t *testing.T, name string, wish bool) {
	t.Helper()
	cluster := &rayv1.RayCluster{ObjectMeta: r.meta(name)}
	patch := `{"spec":{"suspend":true}}`
	if !wish {
		patch = `{"spec":{"suspend":false}}`
	}
	require.NoError(t, r.Patch(t.Context(), cluster, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// testFollow: both watchers go on here, which in a cluster end with their pods; whoever is left does it.
func testFollow(t *testing.T, s *server) {
	r := s.newRun(t, "follow")
	follow := func(c *Config) { c.Policy.OnSuspend = SuspendFollow }
	rl, gym := r.watch(t, "rl", s.cfg, follow), r.watch(t, "gym", s.cfg, follow)
	all := func(want bool) func() bool {
		return func() bool {
			for _, is := range r.suspended(t) {
				if is != want {
					return false
				}
			}
			return true
		}
	}
	r.suspend(t, "follow-gym", true)
	require.Eventually(t, all(true), 10*time.Second, 50*time.Millisecond)
	var c rayv1.RayCluster
	require.NoError(t, r.get(t, "follow-rl", &c))
	require.Equal(t, "RayCluster follow-gym", c.Annotations[SuspendedWithAnnotation])
	require.NoError(t, r.get(t, "follow-gym", &c))
	require.NotContains(t, c.Annotations, SuspendedWithAnnotation, "that was somebody's wish")

	r.suspend(t, "follow-gym", false)
	require.Eventually(t, all(false), 10*time.Second, 50*time.Millisecond)
	require.NoError(t, r.get(t, "follow-rl", &c))
	require.NotContains(t, c.Annotations, SuspendedWithAnnotation)
	require.False(t, rl.ended() || gym.ended())
	require.Empty(t, r.reported(t))
}

func testFollowForbidden(t *testing.T, s *server) {
	r := s.newRun(t, "leash")
	done := make(doneSteps, 100)
	w := r.watch(t, "rl", r.role(t, "leash", ""), func(c *Config) { c.Policy.OnSuspend, c.Observer = SuspendFollow, done })
	r.suspend(t, "leash-gym", true)
	step := <-done
	require.Equal(t, StepSuspend, step.Kind)
	require.ErrorContains(t, step.Err, `the role needs verb "patch" on jobs.batch with resourceNames [leash-driver]`)
	require.False(t, w.ended())
}
