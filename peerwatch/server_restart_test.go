package peerwatch

import (
	"fmt"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/registry"
)

func restarting(times int) func(*Config) {
	return func(c *Config) {
		c.Policy.OnFailure, c.Policy.MaxRestarts, c.Policy.RestartBackoff = FailureRestart, times, time.Millisecond
		c.Pod.Pod = c.Self.Name + "-head"
	}
}

func (r testRun) registryMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	var cm corev1.ConfigMap
	require.NoError(t, r.get(t, registry.DefaultPrefix+r.name, &cm))
	return &cm
}

// podsGone waits for the deletion of every pod of both clusters.
func (r testRun) podsGone(t *testing.T) {
	t.Helper()
	for _, short := range []string{"rl", "gym"} {
		for _, nodeType := range []string{"head", "worker"} {
			name := fmt.Sprintf("%s-%s-%s", r.name, short, nodeType)
			require.Eventually(t, func() bool { return r.get(t, name, &corev1.Pod{}) != nil }, 10*time.Second, 20*time.Millisecond, name)
		}
	}
}

// remake is what KubeRay does then.
func (r testRun) remake(t *testing.T) {
	t.Helper()
	for _, short := range []string{"rl", "gym"} {
		var cluster rayv1.RayCluster
		require.NoError(t, r.get(t, r.name+"-"+short, &cluster))
		r.createPod(t, &cluster, "head")
		r.createPod(t, &cluster, "worker")
	}
}

func (r testRun) restarts(t *testing.T) Restart {
	t.Helper()
	return configMap{Metadata: objectMeta{Annotations: r.registryMap(t).Annotations}}.restart()
}

// testRestart: both watchers see one failure and count one restart; what was published before cannot be read after it.
func testRestart(t *testing.T, s *server) {
	r := s.newRun(t, "again")
	store, err := registry.New(registry.Config{Run: r.name, Namespace: "default"}, s.cfg)
	require.NoError(t, err)
	require.NoError(t, store.Set(t.Context(), "some_server", "http://10.0.0.1:1"))
	saidByRL, saidByGym := make(heard, 1000), make(heard, 1000)
	rl := r.watch(t, "rl", s.cfg, restarting(1), func(c *Config) { c.Observer = saidByRL })
	gym := r.watch(t, "gym", s.cfg, restarting(1), func(c *Config) { c.Observer = saidByGym })
	r.killHead(t, "gym")
	r.podsGone(t)
	require.Equal(t, 1, r.restarts(t).Count)
	require.Contains(t, r.restarts(t).Reason, "head pod again-gym-head")
	cm := r.registryMap(t)
	require.Empty(t, cm.Data, "no endpoint and no error of before")
	require.Equal(t, "restart-1", cm.Annotations[registry.IncarnationAnnotation])
	require.Contains(t, cm.Annotations[PostMortemAnnotation+".1"], "again-gym-head")

	saidByRL.forget()
	saidByGym.forget()
	r.remake(t)
	saidByRL.until(t, "")
	saidByGym.until(t, "")
	require.Equal(t, 1, r.restarts(t).Count)
	for _, name := range []string{"again-rl", "again-gym"} {
		require.Len(t, r.events(t)[name], 1)
		require.Equal(t, EventRestart, r.events(t)[name][0].Reason)
		require.Contains(t, r.events(t)[name][0].Note, "restart 1 of 1: ")
	}

	r.killHead(t, "rl")
	for _, w := range []*watching{rl, gym} {
		require.Equal(t, Fail, w.wait(t).Action.Kind)
		require.NoError(t, w.err)
	}
	require.Equal(t, `container "ray-head" of head pod again-rl-head of RayCluster again-rl restarted (exit code 137, Error) (after 1 of 1 restarts)`, r.reported(t))
	r.requireClustersGone(t)
}

// testRestartFinished: who began it is gone; its count, and nothing else, is there.
func testRestartFinished(t *testing.T, s *server) {
	r := s.newRun(t, "half")
	watcher, err := New(Config{Run: r.name, Namespace: "default", Self: r.cluster("rl"), Peers: []Ref{r.cluster("gym")}, Policy: restartPolicy(), StepTimeout: stepTimeout}, s.cfg)
	require.NoError(t, err)
	obs, err := watcher.look(t.Context(), begin(r.cluster("rl"), []Ref{r.cluster("gym")}, Ref{}, watcher.now()))
	require.NoError(t, err)
	_, begun := watcher.begin(t.Context(), Action{begins: 1, Reason: "why"}, obs)
	require.True(t, begun)
	_, begun = watcher.begin(t.Context(), Action{begins: 1, Reason: "why"}, obs)
	require.False(t, begun, "a restart is counted once")

	r.watch(t, "gym", s.cfg, restarting(3))
	require.Eventually(t, func() bool {
		return r.registryMap(t).Annotations[registry.IncarnationAnnotation] == "restart-1"
	}, 2*finishAfter, 50*time.Millisecond)
	r.podsGone(t)
	require.Equal(t, 1, r.restarts(t).Count)
}

func testRestartForbidden(t *testing.T, s *server) {
	r := s.newRun(t, "bound")
	done := make(doneSteps, 100)
	w := r.watch(t, "rl", r.role(t, "bound", ""), restarting(3), func(c *Config) { c.Observer = done })
	r.killHead(t, "gym")
	for step := range done {
		if step.Kind == StepDelete {
			require.ErrorContains(t, step.Err, `the role needs verb "delete" on pods`)
			break
		}
	}
	require.False(t, w.ended())
	require.Equal(t, 1, r.restarts(t).Count)
}
