package launch_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/faultyapi"
	"github.com/tandem-rl/tandem/launch"
)

const starting = "tandem.dev/starting"

func (c *cluster) rayJob(run *v1alpha1.Run) *rayv1.RayJob {
	c.t.Helper()
	job := &rayv1.RayJob{}
	require.NoError(c.t, c.client.Get(c.t.Context(), client.ObjectKey{Namespace: run.Metadata.Namespace, Name: run.Metadata.Name}, job))
	return job
}

// writes are what a launcher asks the server to change, in order: POST rayjobs. A fault may answer in the server's place.
type writes struct {
	mu   sync.Mutex
	list []string
}

func (c *cluster) record(fault func(req *http.Request, write string) *http.Response) *writes {
	c.t.Helper()
	w := &writes{}
	config, requests := faultyapi.Wrap(c.config)
	requests.Inject(func(req *http.Request) *http.Response {
		if req.Method == http.MethodGet || req.URL.Query().Has("dryRun") {
			return nil
		}
		_, path, _ := strings.Cut(req.URL.Path, "/namespaces/")
		write := req.Method + " " + strings.Split(path, "/")[1]
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = append(w.list, write)
		if fault == nil {
			return nil
		}
		return fault(req, write)
	})
	var err error
	c.launcher, err = launch.New(config)
	require.NoError(c.t, err)
	return w
}

func (w *writes) made() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Compact(slices.Clone(w.list))
}

func rayJobComesFirstAndStartsWhenAllIsThere(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	w := c.record(nil)
	for _, action := range []string{"created", "unchanged"} {
		changes := c.up(run)
		require.Len(t, changes, 9)
		for _, change := range changes {
			require.Equal(t, action, change.Action, change.Object)
		}
	}
	require.Equal(t, []string{"POST rayjobs", "PATCH serviceaccounts", "PATCH roles", "PATCH configmaps", "PATCH rolebindings", "PATCH rayjobs", "PATCH rayclusters"}, w.sorted())
	job := c.rayJob(run)
	require.False(t, job.Spec.Suspend)
	require.NotContains(t, job.Annotations, starting)

	owner := []metav1.OwnerReference{{
		APIVersion: "ray.io/v1", Kind: "RayJob", Name: "rayjob", UID: job.UID, Controller: new(false), BlockOwnerDeletion: new(false),
	}}
	gym, role, configMap := &rayv1.RayCluster{}, &rbacv1.Role{}, &corev1.ConfigMap{}
	for name, object := range map[string]client.Object{"rayjob-gym": gym, "rayjob-peerwatch": role, "nemo-rl-endpoints-rayjob": configMap} {
		require.NoError(t, c.client.Get(t.Context(), client.ObjectKey{Namespace: run.Metadata.Namespace, Name: name}, object))
	}
	require.Equal(t, owner, gym.OwnerReferences)
	require.Equal(t, owner, role.OwnerReferences)
	require.Empty(t, configMap.OwnerReferences, "it says why the run failed when the RayJob is gone")
}

// sorted brings the prerequisites, which may come in any order, into one.
func (w *writes) sorted() []string {
	made := w.made()
	order := []string{"POST rayjobs", "PATCH serviceaccounts", "PATCH roles", "PATCH configmaps", "PATCH rolebindings"}
	resumed := slices.Index(made, "PATCH rayjobs")
	slices.SortStableFunc(made[1:max(1, resumed)], func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return slices.Compact(made)
}

func rayJobIsDeletedWhenSomethingIsRefused(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	c.record(func(req *http.Request, write string) *http.Response {
		if write != "PATCH rayclusters" {
			return nil
		}
		return faultyapi.Answer(req, http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"exceeded quota"}`)
	})
	_, err := c.launcher.Up(t.Context(), run)
	require.ErrorContains(t, err, "exceeded quota")
	_, err = c.launcher.Status(t.Context(), run.Metadata.Namespace, run.Metadata.Name)
	require.ErrorIs(t, err, launch.ErrNotFound, "neither RayJob nor ConfigMap is left; nobody collects garbage here")
	c.record(nil)
	require.Equal(t, "created", c.up(run)[0].Action, "and up may be called again")
}

func interruptedBringUpGoesOn(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	ctx, interrupt := context.WithCancel(t.Context())
	c.record(func(_ *http.Request, write string) *http.Response {
		if write == "PATCH rolebindings" {
			interrupt()
		}
		return nil
	})
	_, err := c.launcher.Up(ctx, run)
	require.ErrorIs(t, err, context.Canceled)
	job := c.rayJob(run)
	require.True(t, job.Spec.Suspend, "nothing of it starts")
	status := c.status(run)
	require.Equal(t, launch.Pending, status.Phase)
	require.Equal(t, "RayJob rayjob is held until what it needs is there, since "+job.Annotations[starting], status.Reason)
	clusters := &rayv1.RayClusterList{}
	require.NoError(t, c.client.List(t.Context(), clusters, client.InNamespace(run.Metadata.Namespace)))
	require.Empty(t, clusters.Items, "no other cluster holds nodes for it")

	job.Finalizers = []string{"ray.io/rayjob-finalizer"} // as KubeRay does, which writes all fields that it knows
	require.NoError(t, c.client.Update(t.Context(), job))
	changes := c.up(run)
	require.Equal(t, "configured", changes[0].Action)
	again := c.rayJob(run)
	require.Equal(t, job.UID, again.UID)
	require.False(t, again.Spec.Suspend)
	require.NotContains(t, again.Annotations, starting)
}

func rayJobIsNeverChanged(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	run.Spec.TTLAfterFinished = &metav1.Duration{Duration: time.Minute}
	c.up(run)
	run.Spec.TTLAfterFinished = nil
	run.Spec.Driver.Command = []string{"other"}
	_, err := c.launcher.Up(t.Context(), run)
	require.EqualError(t, err, "RayJob/"+run.Metadata.Namespace+"/rayjob cannot be changed while it is there (spec.entrypoint, spec.ttlSecondsAfterFinished are immutable)")
	require.ErrorAs(t, err, new(*launch.ChangedError))
	require.Equal(t, int32(60), c.rayJob(run).Spec.TTLSecondsAfterFinished)
}

func rayJobOfSomebodyElseIsLeftAlone(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	theirs := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "rayjob", Namespace: run.Metadata.Namespace}, Spec: rayv1.RayJobSpec{Entrypoint: "theirs"}}
	require.NoError(t, c.client.Create(t.Context(), theirs))
	_, err := c.launcher.Up(t.Context(), run)
	require.ErrorAs(t, err, new(*launch.ChangedError))
	require.Equal(t, "theirs", c.rayJob(run).Spec.Entrypoint)
	_, err = c.launcher.Status(t.Context(), run.Metadata.Namespace, run.Metadata.Name)
	require.ErrorIs(t, err, launch.ErrNotFound, "nothing of the run is made")
}

// Kueue resumes what it admits: it must not see the RayJob before all is there, and `up` must not resume it.
func kueueResumesTheRayJob(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	run.Spec.Scheduling = v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKueue, Queue: "rl-team"}
	run.SetDefaults()
	var labelled bool
	c.record(func(_ *http.Request, write string) *http.Response {
		if write == "PATCH rayjobs" {
			labelled = c.rayJob(run).Labels["kueue.x-k8s.io/queue-name"] != ""
		}
		return nil
	})
	c.up(run)
	require.False(t, labelled, "before the last step")
	job := c.rayJob(run)
	require.Equal(t, "rl-team", job.Labels["kueue.x-k8s.io/queue-name"])
	require.True(t, job.Spec.Suspend)
	require.Equal(t, "RayJob rayjob is suspended", c.status(run).Reason)
}

func rayJobThatIsDeletedIsOver(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	c.up(run)
	w := c.wait(t.Context(), run)
	w.line("run rayjob: Pending")
	c.delete(c.rayJob(run))
	status, err := w.end()
	require.NoError(t, err)
	require.Equal(t, launch.Failed, status.Phase)
	require.Equal(t, "RayJob rayjob is gone: somebody deleted it", status.Reason)
	_, err = c.launcher.Up(t.Context(), run)
	require.ErrorAs(t, err, new(*launch.EndedError))

	removal, err := c.down(run)
	require.NoError(t, err)
	require.Len(t, removal.Removed, 8)
	err = c.client.Get(t.Context(), client.ObjectKey{Namespace: run.Metadata.Namespace, Name: "rayjob-gym"}, &rayv1.RayCluster{})
	require.True(t, apierrors.IsNotFound(err))
}

func interruptedAfterResumingGoesOn(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	ctx, interrupt := context.WithCancel(t.Context())
	c.record(func(_ *http.Request, write string) *http.Response {
		if write == "PATCH rayclusters" {
			interrupt()
		}
		return nil
	})
	_, err := c.launcher.Up(ctx, run)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, c.rayJob(run).Spec.Suspend)
	actions := map[string]string{}
	for _, change := range c.up(run) {
		actions[change.Object] = change.Action
	}
	require.Equal(t, "unchanged", actions["RayJob/"+run.Metadata.Namespace+"/rayjob"])
	require.Equal(t, "created", actions["RayCluster/"+run.Metadata.Namespace+"/rayjob-gym"])
}

func secondUpAtOnceIsRefused(t *testing.T, c *cluster) {
	run := c.run("disagg-rayjob")
	c.record(func(_ *http.Request, write string) *http.Response {
		if write == "POST rayjobs" {
			theirs := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "rayjob", Namespace: run.Metadata.Namespace}, Spec: rayv1.RayJobSpec{Entrypoint: "theirs"}}
			require.NoError(t, c.client.Create(t.Context(), theirs))
		}
		return nil
	})
	_, err := c.launcher.Up(t.Context(), run)
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	require.Equal(t, "theirs", c.rayJob(run).Spec.Entrypoint, "neither changed nor deleted")
}
