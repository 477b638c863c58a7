package peerwatch

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/faultyapi"
	"github.com/tandem-rl/tandem/registry"
)

// TestAgainstAPIServer runs whole watchers.
func TestAgainstAPIServer(t *testing.T) {
	s := startServer(t)
	for name, test := range map[string]func(*testing.T, *server){
		"P1 a killed head takes everything down though the state stays ready": testKilledHead,
		"a killed worker takes everything down as well":                       testKilledWorker,
		"two watchers at once are harmless":                                   testTwoWatchers,
		"P10 a success takes the clusters down, reports no error":             testSuccess,
		"a peer that went because the driver completed is a success":          testSuccessSeenLate,
		"a failed driver takes the clusters down and stays":                   testFailedDriver,
		"P8 an error that somebody reported takes everything down":            testReportedError,
		"P4 a peer that was deleted takes everything down":                    testDeletedPeer,
		"a run that is removed is left alone, and nothing is reported":        testRemoval,
		"P4 a peer that never comes is a failure after the grace":             testPeerNeverComes,
		"P2 an API server that refuses and fails is no evidence":              testBlind,
		"P6 a forbidden delete names the rule and does not stop the others":   testForbiddenDelete,
		"P6 a delete is tried again until it is confirmed":                    testStubbornDelete,
		"a refusal of a server that has just started is not final":            testColdServer,
		"a watcher that was held up looks again before it believes a grace":   testHeldUp,
		"the role of the contract is enough":                                  testRole,
		"P3 a token that expires is read again":                               testExpiredToken,
		"P10 a peer whose head's node is lost, watcher and all":               testLostNode,
		"a watcher whose node is drained tells the peers before it goes":      testDrained,
		"a watcher that is stopped while its run is removed says nothing":     testStoppedInRemoval,
		"a worker that vanished without a trace":                              testVanishedWorker,
		"a RayJob's pods are those of the cluster that KubeRay names":         testRayJobPeer,
		"a RayJob that drives and is a peer stays when it succeeds":           testRayJobDriver,
		"a Deployment and a set of pods are peers":                            testOtherPeers,
		"a JobSet drives": testJobSetDriver,
		"P5 all follow a suspension, and are resumed together":              testFollow,
		"a forbidden suspension names the rule":                             testFollowForbidden,
		"two watchers start a run again once, and take it down at the end":  testRestart,
		"a restart that somebody left is finished":                          testRestartFinished,
		"a forbidden restart names the rule":                                testRestartForbidden,
		"P11 a server with an unknown certificate is not believed":          testUnknownServer,
		"every cluster gets one Event about a failure, however many watch":  testEvents,
		"every cluster gets an Event about a success":                       testEventsOfSuccess,
		"a forbidden Event names the rule, and the cascade is whole":        testForbiddenEvent,
		"the logs of what failed outlive the pods":                          testPostMortem,
		"the first post-mortem stays, but not that of an older incarnation": testPostMortemStays,
		"a forbidden log names the rule, and the exit codes are kept":       testForbiddenLog,
		"a node that does not send its log does not keep the clusters":      testSlowLog,
		"Events that nobody takes do not keep the clusters":                 testSlowEvents,
		"signal reports a failure once and deletes nothing":                 testSignal,
		"a dry run changes nothing":                                         testDryRun,
		"P5 a peer that is suspended and resumed is waited for":             testSuspendedPeer,
		"P7 nothing but watches while nothing changes":                      testQuiet,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func testKilledHead(t *testing.T, s *server) {
	r := s.newRun(t, "killed")
	cfg, seen := faultyapi.Wrap(s.cfg)
	seen.Inject(logs(func(*http.Request) string { return "" })) // there is no kubelet
	var gym rayv1.RayCluster
	require.NoError(t, r.get(t, "killed-gym", &gym))
	//lint:ignore SA1019 KubeRay leaves it so when the head dies
	gym.Status.State = rayv1.Ready
	require.NoError(t, r.Status().Update(t.Context(), &gym))
	w := r.watch(t, "rl", cfg)
	r.killHead(t, "gym")
	outcome := w.wait(t)
	require.NoError(t, w.err)
	want := `container "ray-head" of head pod killed-gym-head of RayCluster killed-gym restarted (exit code 137, Error)`
	require.Equal(t, Action{Kind: Fail, Reason: want}, outcome.Action)
	require.Equal(t, []Step{
		{Kind: StepReport, Name: "report the error"},
		{Kind: StepPostMortem, Name: "save the post-mortem", Optional: true},
		{Kind: StepEvent, Name: "event on killed-rl", Optional: true},
		{Kind: StepEvent, Name: "event on killed-gym", Optional: true},
		{Kind: StepDelete, Name: "delete rayclusters.ray.io killed-gym"},
		{Kind: StepDelete, Name: "delete jobs.batch killed-driver"},
		{Kind: StepDelete, Name: "delete rayclusters.ray.io killed-rl"},
	}, outcome.Steps)
	require.Equal(t, want, r.reported(t))
	r.requireClustersGone(t)
	r.requireGone(t, "killed-driver", &batchv1.Job{})
}

func testKilledWorker(t *testing.T, s *server) {
	r := s.newRun(t, "worker")
	w := r.watch(t, "rl", s.cfg)
	r.kill(t, "worker-gym-worker")
	require.Equal(t, Fail, w.wait(t).Action.Kind)
	require.NoError(t, w.err)
	require.Equal(t, `container "ray-worker" of worker pod worker-gym-worker of RayCluster worker-gym restarted (exit code 137, Error)`, r.reported(t))
	r.requireClustersGone(t)
}

func testTwoWatchers(t *testing.T, s *server) {
	r := s.newRun(t, "two")
	rl, gym := r.watch(t, "rl", s.cfg), r.watch(t, "gym", s.cfg)
	r.killHead(t, "gym")
	for _, w := range []*watching{rl, gym} {
		require.Equal(t, Fail, w.wait(t).Action.Kind)
		require.NoError(t, w.err)
	}
	require.Contains(t, r.reported(t), "head pod two-gym-head")
	r.requireClustersGone(t)
}

func testSuccess(t *testing.T, s *server) {
	r := s.newRun(t, "success")
	rl, gym := r.watch(t, "rl", s.cfg), r.watch(t, "gym", s.cfg)
	r.completeDriver(t)
	for _, w := range []*watching{rl, gym} {
		require.Equal(t, Succeed, w.wait(t).Action.Kind)
		require.NoError(t, w.err)
	}
	require.Empty(t, r.reported(t))
	r.requireClustersGone(t)
	require.NoError(t, r.get(t, "success-driver", &batchv1.Job{}), "the finished Job stays")
}

// testSuccessSeenLate: the watch of the Job lags behind that of the clusters.
func testSuccessSeenLate(t *testing.T, s *server) {
	r := s.newRun(t, "late")
	cfg, seen := faultyapi.Wrap(s.cfg)
	jobsAreHidden := true
	seen.Inject(func(req *http.Request) *http.Response {
		if faultyapi.Kind(req) == "WATCH" && strings.Contains(req.URL.Path, "/jobs") && jobsAreHidden {
			return faultyapi.Answer(req, http.StatusServiceUnavailable, "{}")
		}
		return nil
	})
	w := r.watch(t, "gym", cfg)
	require.Eventually(t, func() bool { return seen.Of("WATCH") >= 6 }, 10*time.Second, time.Millisecond)
	r.completeDriver(t)
	r.deleteCluster(t, "rl")
	require.Equal(t, Succeed, w.wait(t).Action.Kind)
	require.Empty(t, r.reported(t))
}

func testFailedDriver(t *testing.T, s *server) {
	r := s.newRun(t, "failed")
	w := r.watch(t, "rl", s.cfg)
	r.createDriverPod(t)
	r.failDriver(t)
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, `driver Job failed-driver failed: BackoffLimitExceeded: Job has reached the specified backoff limit; `+
		`container "driver" of pod failed-driver-x terminated (exit code 7, Error)`, r.reported(t))
	r.requireClustersGone(t)
	require.NoError(t, r.get(t, "failed-driver", &batchv1.Job{}), "the finished Job stays")
}

func testReportedError(t *testing.T, s *server) {
	r := s.newRun(t, "reported")
	w := r.watch(t, "rl", s.cfg)
	store, err := registry.New(registry.Config{Run: r.name, Namespace: "default"}, s.cfg)
	require.NoError(t, err)
	require.NoError(t, store.Fail(t.Context(), "CUDA out of memory"))
	require.Equal(t, "CUDA out of memory", w.wait(t).Action.Reason)
	require.NoError(t, w.err)
	r.requireClustersGone(t)
}

func testDeletedPeer(t *testing.T, s *server) {
	r := s.newRun(t, "deleted")
	cfg, seen := faultyapi.Wrap(s.cfg)
	w := r.watch(t, "rl", cfg)
	require.Eventually(t, func() bool { return seen.Of("WATCH") >= 6 }, 10*time.Second, time.Millisecond)
	r.deleteCluster(t, "gym")
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, "RayCluster deleted-gym is gone", r.reported(t))
	r.requireClustersGone(t)
}

// testRemoval: `tandem down` marks the ConfigMap, then deletes; the watch of the ConfigMap lags behind that of the clusters.
func testRemoval(t *testing.T, s *server) {
	r := s.newRun(t, "removal")
	cfg, seen := faultyapi.Wrap(s.cfg)
	var marked, confirmed atomic.Bool
	seen.Inject(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.RawQuery, "job-name") { // these pods are looked at only to confirm
			confirmed.Store(true)
		}
		hidden := faultyapi.Kind(req) == "WATCH" || (marked.Load() && !confirmed.Load())
		if hidden && strings.Contains(req.URL.Path, "/configmaps") {
			return faultyapi.Answer(req, http.StatusServiceUnavailable, "{}")
		}
		return nil
	})
	w := r.watch(t, "rl", cfg)
	require.Eventually(t, func() bool { return seen.Of("WATCH") >= 6 }, 10*time.Second, time.Millisecond)
	marked.Store(true)
	var object corev1.ConfigMap
	require.NoError(t, r.get(t, registry.DefaultPrefix+r.name, &object))
	object.Annotations = map[string]string{v1alpha1.AnnotationRemoving: "2026-01-01T00:00:00Z"}
	require.NoError(t, r.Update(t.Context(), &object))
	r.deleteCluster(t, "gym")
	require.Eventually(t, confirmed.Load, 10*time.Second, time.Millisecond)
	require.NoError(t, r.Delete(t.Context(), &batchv1.Job{ObjectMeta: r.meta("removal-driver")}))
	require.Never(t, w.ended, 300*time.Millisecond, 10*time.Millisecond)
	require.Empty(t, r.reported(t))
	require.NoError(t, r.get(t, "removal-rl", &rayv1.RayCluster{}), "it is for `tandem down` to remove")
}

func testPeerNeverComes(t *testing.T, s *server) {
	r := s.newRun(t, "lonely")
	r.deleteCluster(t, "gym")
	require.NoError(t, r.Delete(t.Context(), &corev1.Pod{ObjectMeta: r.meta("lonely-gym-head")}))
	w := r.watch(t, "rl", s.cfg, func(c *Config) { c.Policy.StartupGrace = 500 * time.Millisecond })
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, "RayCluster lonely-gym has not appeared within 500ms", r.reported(t))
}

func testBlind(t *testing.T, s *server) {
	r := s.newRun(t, "blind")
	cfg, seen := faultyapi.Wrap(s.cfg)
	w := r.watch(t, "rl", cfg, func(c *Config) {
		c.Policy.StartupGrace, c.Policy.UnreadyGrace = time.Nanosecond, time.Nanosecond
	})
	codes := []int{401, 403, 429, 500, 503, 504}
	seen.Inject(func(req *http.Request) *http.Response {
		code := codes[0]
		codes = append(codes[1:], code)
		return faultyapi.Answer(req, code, "{}")
	})
	require.Eventually(t, func() bool { return seen.All() > 60 }, 30*time.Second, time.Millisecond)
	require.False(t, w.ended())
	seen.Inject(nil)
	r.completeDriver(t)
	require.Equal(t, Succeed, w.wait(t).Action.Kind)
	require.Empty(t, r.reported(t))
}

func testForbiddenDelete(t *testing.T, s *server) {
	r := s.newRun(t, "denied")
	w := r.watch(t, "rl", r.role(t, "denied", "denied-gym"))
	r.killHead(t, "gym")
	w.wait(t)
	require.ErrorContains(t, w.err, `delete rayclusters.ray.io denied-gym: the role needs verb "delete" on rayclusters.ray.io with resourceNames [denied-gym]`)
	require.NoError(t, r.get(t, "denied-gym", &rayv1.RayCluster{}))
	r.requireGone(t, "denied-rl", &rayv1.RayCluster{})
	r.requireGone(t, "denied-driver", &batchv1.Job{})
	require.NotEmpty(t, r.reported(t))
}

func testStubbornDelete(t *testing.T, s *server) {
	r := s.newRun(t, "stubborn")
	cfg, seen := faultyapi.Wrap(s.cfg)
	w := r.watch(t, "rl", cfg)
	codes := []int{429, 500, 401, 503, 200}
	seen.Inject(func(req *http.Request) *http.Response {
		if req.Method != http.MethodDelete || len(codes) == 0 {
			return nil
		}
		code := codes[0]
		codes = codes[1:]
		return faultyapi.Answer(req, code, "{}") // the 200 claims a deletion that did not happen
	})
	r.killHead(t, "gym")
	w.wait(t)
	require.NoError(t, w.err)
	r.requireClustersGone(t)
}

// testColdServer: the server is not there when the watcher looks again, and has not read the roles when it acts.
func testColdServer(t *testing.T, s *server) {
	r := s.newRun(t, "cold")
	cfg, seen := faultyapi.Wrap(s.cfg)
	w := r.watch(t, "rl", cfg)
	codes := []int{503, 403, 403, 403}
	seen.Inject(func(req *http.Request) *http.Response {
		writes := len(codes) == 4 || req.Method == http.MethodDelete || req.Method == http.MethodPatch || req.Method == http.MethodPost
		if !writes || len(codes) == 0 {
			return nil
		}
		code := codes[0]
		codes = codes[1:]
		return faultyapi.Answer(req, code, "{}")
	})
	r.killHead(t, "gym")
	outcome := w.wait(t)
	require.NoError(t, w.err)
	for _, step := range outcome.Steps {
		require.False(t, step.Kind != StepPostMortem && step.Err != nil, "%s: %v", step.Name, step.Err) // there is no kubelet
	}
	r.requireClustersGone(t)
}

// testHeldUp: its process did not run for an hour, in which the head of a peer was well again.
func testHeldUp(t *testing.T, s *server) {
	r := s.newRun(t, "stalled")
	watcher, err := New(Config{Run: r.name, Namespace: "default", Self: r.cluster("rl"), Peers: []Ref{r.cluster("gym")}, Policy: DefaultPolicy()}, s.cfg)
	require.NoError(t, err)
	obs, err := watcher.look(t.Context(), begin(r.cluster("rl"), []Ref{r.cluster("gym")}, Ref{}, watcher.now()))
	require.NoError(t, err)
	gym(&obs).UnreadySince = watcher.now()
	later := watcher.now().Add(time.Hour)
	watcher.now = func() time.Time { return later }
	require.Equal(t, Fail, Decide(DefaultPolicy(), obs, later).Kind)
	action, _ := watcher.confirm(t.Context(), obs)
	require.Equal(t, Action{Kind: Wait}, action)
}

func testRole(t *testing.T, s *server) {
	r := s.newRun(t, "role")
	w := r.watch(t, "rl", r.role(t, "role", ""))
	r.killHead(t, "rl")
	w.wait(t)
	require.NoError(t, w.err)
	r.requireClustersGone(t)
}

// testExpiredToken: the kubelet writes a new token into the file long before the old one is refused.
func testExpiredToken(t *testing.T, s *server) {
	r := s.newRun(t, "token")
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	cfg, seen := faultyapi.Wrap(s.cfg)
	cfg.BearerTokenFile = file
	onlyToken := func(token string) faultyapi.Fault {
		return func(req *http.Request) *http.Response {
			if req.Header.Get("Authorization") == "Bearer "+token {
				return nil
			}
			return faultyapi.Answer(req, http.StatusUnauthorized, "{}")
		}
	}
	seen.Inject(onlyToken("old"))
	said := make(heard, 1000)
	w := r.watch(t, "rl", cfg, func(c *Config) { c.Observer = said })
	said.until(t, "")
	require.NoError(t, os.WriteFile(file, []byte("new"), 0o600))
	seen.Inject(onlyToken("new"))
	r.killHead(t, "gym")
	require.Equal(t, Fail, w.wait(t).Action.Kind)
	require.NoError(t, w.err)
	require.Contains(t, r.reported(t), "token-gym-head")
	r.requireClustersGone(t)
}

// testLostNode: after the node is lost, the control plane marks the head's pod for deletion and nobody ends it.
func testLostNode(t *testing.T, s *server) {
	r := s.newRun(t, "node")
	var head corev1.Pod
	require.NoError(t, r.get(t, "node-gym-head", &head))
	head.Finalizers = []string{"tandem.dev/test-node-is-lost"}
	require.NoError(t, r.Update(t.Context(), &head))
	w := r.watch(t, "rl", s.cfg)
	require.NoError(t, r.Delete(t.Context(), &head))
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, "head pod node-gym-head of RayCluster node-gym is being deleted", r.reported(t))
	r.requireClustersGone(t)
}

// testDrained: the eviction is seen by the watcher whose pod it is; the peers' watchers are blind just then.
func testDrained(t *testing.T, s *server) {
	r := s.newRun(t, "drained")
	var head corev1.Pod
	require.NoError(t, r.get(t, "drained-rl-head", &head))
	head.Finalizers = []string{"tandem.dev/test-containers-end"}
	require.NoError(t, r.Update(t.Context(), &head))
	w := r.watch(t, "rl", s.cfg, func(c *Config) { c.Pod.Pod = "drained-rl-head" })
	require.NoError(t, r.Delete(t.Context(), &head))
	w.stop()
	require.Equal(t, []Step{{Kind: StepReport, Name: "report the error"}}, w.wait(t).Steps)
	require.Equal(t, "head pod drained-rl-head of RayCluster drained-rl is being terminated", r.reported(t))
	require.NoError(t, r.get(t, "drained-gym", &rayv1.RayCluster{}), "it is for the peer to cascade")
}

func testStoppedInRemoval(t *testing.T, s *server) {
	r := s.newRun(t, "ending")
	var object corev1.ConfigMap
	require.NoError(t, r.get(t, registry.DefaultPrefix+r.name, &object))
	object.Annotations = map[string]string{v1alpha1.AnnotationRemoving: "2026-01-01T00:00:00Z"}
	require.NoError(t, r.Update(t.Context(), &object))
	w := r.watch(t, "rl", s.cfg)
	require.NoError(t, r.Delete(t.Context(), &corev1.Pod{ObjectMeta: r.meta("ending-rl-head")}))
	w.stop()
	require.Empty(t, w.wait(t).Steps)
	require.Empty(t, r.reported(t))
}

func testVanishedWorker(t *testing.T, s *server) {
	r := s.newRun(t, "vanished")
	var gym rayv1.RayCluster
	require.NoError(t, r.get(t, "vanished-gym", &gym))
	gym.Spec.WorkerGroupSpecs = []rayv1.WorkerGroupSpec{{
		GroupName: "gpu", MinReplicas: new(int32(1)), MaxReplicas: new(int32(1)), RayStartParams: map[string]string{},
		Template: corev1.PodTemplateSpec{Spec: container("ray-worker")},
	}}
	require.NoError(t, r.Update(t.Context(), &gym))
	var worker corev1.Pod
	require.NoError(t, r.get(t, "vanished-gym-worker", &worker))
	worker.Labels["ray.io/group"] = "gpu"
	require.NoError(t, r.Update(t.Context(), &worker))
	said := make(heard, 1000)
	w := r.watch(t, "rl", s.cfg, func(c *Config) { c.Observer, c.Policy.UnreadyGrace = said, 500*time.Millisecond })
	said.until(t, "")
	require.NoError(t, r.Delete(t.Context(), &worker, client.GracePeriodSeconds(0)))
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, `worker group "gpu" of RayCluster vanished-gym has had 0 of 1 workers for 500ms`, r.reported(t))
}

func testUnknownServer(t *testing.T, s *server) {
	r := s.newRun(t, "impostor")
	cfg := rest.CopyConfig(s.cfg)
	cfg.CAData, cfg.CAFile = nil, ""
	said := make(heard, 1000)
	w := r.watch(t, "rl", cfg, func(c *Config) { c.Observer, c.Policy.StartupGrace = said, time.Nanosecond })
	said.untilContains(t, "certificate signed by unknown authority")
	require.False(t, w.ended())
}

func testEvents(t *testing.T, s *server) {
	r := s.newRun(t, "events")
	var gym rayv1.RayCluster
	require.NoError(t, r.get(t, "events-gym", &gym))
	rl, other := r.watch(t, "rl", s.cfg), r.watch(t, "gym", s.cfg)
	r.killHead(t, "gym")
	rl.wait(t)
	other.wait(t)
	events := r.events(t)
	require.Len(t, events["events-rl"], 1)
	require.Len(t, events["events-gym"], 1)
	e := events["events-gym"][0]
	require.Equal(t, EventCascade, e.Reason)
	require.Equal(t, corev1.EventTypeWarning, e.Type)
	require.Equal(t, r.reported(t), e.Note)
	require.Equal(t, corev1.ObjectReference{
		APIVersion: "ray.io/v1", Kind: "RayCluster", Namespace: "default", Name: "events-gym", UID: gym.UID,
	}, e.Regarding)
}

func testEventsOfSuccess(t *testing.T, s *server) {
	r := s.newRun(t, "cheers")
	w := r.watch(t, "rl", s.cfg)
	r.completeDriver(t)
	w.wait(t)
	events := r.events(t)
	for _, name := range []string{"cheers-rl", "cheers-gym"} {
		require.Len(t, events[name], 1)
		require.Equal(t, EventSucceeded, events[name][0].Reason)
		require.Equal(t, corev1.EventTypeNormal, events[name][0].Type)
	}
}

func testForbiddenEvent(t *testing.T, s *server) {
	r := s.newRun(t, "mute")
	w := r.watch(t, "rl", r.role(t, "mute", deniedEvents))
	r.killHead(t, "gym")
	outcome := w.wait(t)
	require.NoError(t, w.err)
	require.ErrorContains(t, outcome.Steps[2].Err, `event TandemCascade on RayCluster mute-rl: the role needs verb "create" on events.events.k8s.io`)
	r.requireClustersGone(t)
}

// logs answers requests for logs, in the place of a kubelet.
func logs(text func(*http.Request) string) faultyapi.Fault {
	return func(req *http.Request) *http.Response {
		if !strings.HasSuffix(req.URL.Path, "/log") {
			return nil
		}
		return faultyapi.Answer(req, http.StatusOK, text(req))
	}
}

func testPostMortem(t *testing.T, s *server) {
	r := s.newRun(t, "remains")
	cfg, seen := faultyapi.Wrap(s.cfg)
	seen.Inject(logs(func(req *http.Request) string {
		return "Traceback <...>\n" + req.URL.Path + "?" + req.URL.RawQuery + "\n"
	}))
	r.createDriverPod(t)
	w := r.watch(t, "rl", cfg)
	r.killHead(t, "gym")
	outcome := w.wait(t)
	require.NoError(t, w.err)
	record := r.postMortem(t)
	require.Equal(t, outcome.Action.Reason, record.Reason)
	require.WithinDuration(t, time.Now(), record.Time, time.Minute)
	require.Equal(t, []Remains{
		{
			Pod: "remains-gym-head", Container: "ray-head", ExitCode: new(137), Reason: "Error",
			Log: "Traceback <...>\n/api/v1/namespaces/default/pods/remains-gym-head/log?container=ray-head&limitBytes=262144&previous=true&tailLines=20",
		},
		{
			Pod: "remains-driver-x", Container: "driver", ExitCode: new(7), Reason: "Error",
			Log: "Traceback <...>\n/api/v1/namespaces/default/pods/remains-driver-x/log?container=driver&limitBytes=262144&previous=false&tailLines=20",
		},
	}, record.Containers)
}

func testPostMortemStays(t *testing.T, s *server) {
	r := s.newRun(t, "first")
	watcher, err := New(Config{Run: r.name, Namespace: "default", Self: r.cluster("rl"), Policy: DefaultPolicy()}, s.cfg)
	require.NoError(t, err)
	save := func(reason string) {
		done, err := watcher.savePostMortem(t.Context(), PostMortem{Reason: reason}, 0)
		require.True(t, done)
		require.NoError(t, err)
	}
	save("the cause")
	save("a consequence")
	require.Equal(t, "the cause", r.postMortem(t).Reason)

	var cm corev1.ConfigMap
	require.NoError(t, r.get(t, registry.DefaultPrefix+r.name, &cm))
	cm.Annotations[registry.IncarnationAnnotation] = "2"
	require.NoError(t, r.Update(t.Context(), &cm))
	save("the cause of the second end")
	require.Equal(t, "the cause of the second end", r.postMortem(t).Reason)
	require.Equal(t, "2", r.postMortem(t).Incarnation)

	require.NoError(t, r.Delete(t.Context(), &cm))
	save("nobody is left to tell")
}

func testForbiddenLog(t *testing.T, s *server) {
	r := s.newRun(t, "sealed")
	w := r.watch(t, "rl", r.role(t, "sealed", deniedLogs))
	r.killHead(t, "gym")
	outcome := w.wait(t)
	require.NoError(t, w.err)
	require.ErrorContains(t, outcome.Steps[1].Err, `log of pod sealed-gym-head: the role needs verb "get" on pods/log`)
	kept := r.postMortem(t).Containers[0]
	require.Equal(t, 137, *kept.ExitCode)
	require.Contains(t, kept.LogError, "pods/log")
	r.requireClustersGone(t)
}

func testSlowLog(t *testing.T, s *server) {
	r := s.newRun(t, "tarry")
	cfg := rest.CopyConfig(s.cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return silentNode{next} })
	w := r.watch(t, "rl", cfg)
	r.killHead(t, "gym")
	outcome := w.wait(t)
	require.NoError(t, w.err)
	require.ErrorIs(t, outcome.Steps[1].Err, context.DeadlineExceeded)
	require.Equal(t, 137, *r.postMortem(t).Containers[0].ExitCode, "what is known is kept")
	r.requireClustersGone(t)
}

// silentNode never answers a request for a log.
type silentNode struct{ http.RoundTripper }

func (n silentNode) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, "/log") {
		return n.RoundTripper.RoundTrip(req)
	}
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func policy(p OnFailure) func(*Config) { return func(c *Config) { c.Policy.OnFailure = p } }

func testSignal(t *testing.T, s *server) {
	r := s.newRun(t, "signal")
	cfg, seen := faultyapi.Wrap(s.cfg)
	seen.Inject(logs(func(*http.Request) string { return "" }))
	done := make(doneSteps, 100)
	w := r.watch(t, "rl", cfg, policy(FailureSignal), func(c *Config) { c.Observer = done })
	r.killHead(t, "gym")
	for range 4 { // the report, the post-mortem, two Events
		require.NoError(t, (<-done).Err)
	}
	require.NotEmpty(t, r.reported(t))
	require.Equal(t, EventSignalled, r.events(t)["signal-gym"][0].Reason)
	require.Equal(t, 137, *r.postMortem(t).Containers[0].ExitCode)
	writes := func() int { return seen.Of(http.MethodPost) + seen.Of(http.MethodPatch) }
	before := writes()
	require.Never(t, func() bool { return w.ended() || writes() != before }, 500*time.Millisecond, 10*time.Millisecond)
	require.Zero(t, seen.Of(http.MethodDelete))
	r.completeDriver(t)
	require.Equal(t, Succeed, w.wait(t).Action.Kind, "the driver's end ends the run")
}

// doneSteps are the steps that a watcher did.
type doneSteps chan Step

func (d doneSteps) Did(step Step) { d <- step }

func (d doneSteps) Decided(Action, int) {}

func testDryRun(t *testing.T, s *server) {
	r := s.newRun(t, "dry")
	cfg, seen := faultyapi.Wrap(s.cfg)
	said := make(heard, 100)
	w := r.watch(t, "rl", cfg, policy(FailureDryRun), func(c *Config) { c.Observer = said })
	r.killHead(t, "gym")
	said.until(t, `dry run, else: fail: container "ray-head" of head pod dry-gym-head of RayCluster dry-gym restarted (exit code 137, Error)`)
	r.completeDriver(t)
	said.until(t, "dry run, else: succeed: driver Job dry-driver is complete")
	require.False(t, w.ended())
	for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete} {
		require.Zero(t, seen.Of(method), method)
	}
}

// heard are the reasons that a watcher gave. What nobody listens to is lost.
type heard chan string

func (h heard) Did(Step) {}

func (h heard) Decided(action Action, _ int) {
	select {
	case h <- action.Reason:
	default:
	}
}

// forget what was said until now.
func (h heard) forget() {
	for len(h) > 0 {
		<-h
	}
}

func (h heard) until(t *testing.T, want string) {
	t.Helper()
	h.untilMatch(t, want, func(got string) bool { return got == want })
}

func (h heard) untilContains(t *testing.T, want string) {
	t.Helper()
	h.untilMatch(t, want, func(got string) bool { return strings.Contains(got, want) })
}

func (h heard) untilMatch(t *testing.T, want string, match func(string) bool) {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case got := <-h:
			if match(got) {
				return
			}
		case <-timeout:
			require.FailNow(t, "never heard: "+want)
		}
	}
}

// testSuspendedPeer suspends and resumes a peer as Kueue and KubeRay do.
func testSuspendedPeer(t *testing.T, s *server) {
	r := s.newRun(t, "pause")
	said := make(heard, 100)
	w := r.watch(t, "rl", s.cfg, func(c *Config) { c.Observer = said })
	said.until(t, "")
	var gym rayv1.RayCluster
	require.NoError(t, r.get(t, "pause-gym", &gym))
	suspend := func(wish bool, conditions ...metav1.Condition) {
		gym.Spec.Suspend = &wish
		require.NoError(t, r.Update(t.Context(), &gym))
		gym.Status.Conditions = conditions
		require.NoError(t, r.Status().Update(t.Context(), &gym))
	}
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: kind, LastTransitionTime: metav1.Now()}
	}
	suspend(true, condition("RayClusterSuspending", metav1.ConditionTrue), condition("HeadPodReady", metav1.ConditionFalse))
	for _, pod := range []string{"pause-gym-head", "pause-gym-worker"} {
		require.NoError(t, r.Delete(t.Context(), &corev1.Pod{ObjectMeta: r.meta(pod)}, client.GracePeriodSeconds(0)))
	}
	said.until(t, "RayCluster pause-gym is suspended")
	suspend(true, condition("RayClusterSuspending", metav1.ConditionFalse), condition("RayClusterSuspended", metav1.ConditionTrue))
	suspend(false, condition("RayClusterSuspended", metav1.ConditionFalse), condition("HeadPodReady", metav1.ConditionFalse))
	r.createPod(t, &gym, "head")
	said.until(t, "")
	require.Never(t, w.ended, 300*time.Millisecond, 10*time.Millisecond)
	r.killHead(t, "gym")
	require.Equal(t, Fail, w.wait(t).Action.Kind, "the new head is guarded as the old one was")
	require.Contains(t, r.reported(t), "pause-gym-head")
}

func testSlowEvents(t *testing.T, s *server) {
	r := s.newRun(t, "slow")
	cfg, seen := faultyapi.Wrap(s.cfg)
	seen.Inject(func(req *http.Request) *http.Response {
		if strings.Contains(req.URL.Path, "/events") {
			return faultyapi.Answer(req, http.StatusServiceUnavailable, "{}")
		}
		return nil
	})
	w := r.watch(t, "rl", cfg)
	r.killHead(t, "gym")
	began := time.Now()
	outcome := w.wait(t)
	require.NoError(t, w.err)
	require.Less(t, time.Since(began), stepTimeout, "bounded by its own, shorter time")
	require.ErrorIs(t, outcome.Steps[2].Err, context.DeadlineExceeded)
	r.requireClustersGone(t)
}

func testQuiet(t *testing.T, s *server) {
	r := s.newRun(t, "quiet")
	cfg, seen := faultyapi.Wrap(s.cfg)
	w := r.watch(t, "rl", cfg)
	require.Eventually(t, func() bool { return seen.Of("WATCH") == 6 }, 10*time.Second, time.Millisecond)
	require.Never(t, func() bool { return seen.All() != 12 }, time.Second, 10*time.Millisecond, "six lists and six watches")
	require.False(t, w.ended())
}
