package launch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/launch"
)

func TestRunsOnARealAPIServer(t *testing.T) {
	config := apiServer(t)
	tests := []struct {
		name string
		test func(*testing.T, *cluster)
	}{
		{"up creates every object, and again changes nothing", upIsIdempotent},
		{"up again keeps the endpoints", upKeepsEndpoints},
		{"a JobSet that completes is a run that succeeds", jobSetSucceeds},
		{"a JobSet that fails names the pod, its container, the exit code and the reason", jobSetFails},
		{"a JobSet that somebody deletes is a run that fails", jobSetDeleted},
		{"a RayCluster run succeeds with its driver, whatever is said on the way down", driverCompletes},
		{"a RayCluster run fails with the error in the registry", errorInRegistry},
		{"a RayCluster run fails with its driver", driverFails},
		{"a run that has ended is not brought up again", endedIsRefused},
		{"a run that nobody made is not found", notFound},
		{"waiting stops with its context and leaves the run alone", waitStops},
		{"waiting ends when the run is removed", waitSeesRemoval},
		{"down removes everything and waits for the pods", downWaits},
		{"down says what is left when its time is up", downTimesOut},
		{"up refuses a run that is under way with another backend", upRefusesOtherBackend},
		{"up refuses a run that is under way with a cluster of another name", upRefusesOtherCluster},
		{"up refuses to change what cannot be changed, in a sentence", upRefusesChange},
		{"up says that a namespace does not exist", upWithoutNamespace},
		{"down touches no other run", downLeavesOthers},
		{"a RayJob comes first, suspended, and starts when all is there", rayJobComesFirstAndStartsWhenAllIsThere},
		{"a RayJob is deleted when something on the way is refused", rayJobIsDeletedWhenSomethingIsRefused},
		{"an interrupted up of a RayJob is gone on with", interruptedBringUpGoesOn},
		{"an up that is interrupted after resuming the RayJob is gone on with", interruptedAfterResumingGoesOn},
		{"of two up of a RayJob at once one is refused", secondUpAtOnceIsRefused},
		{"a RayJob is never changed", rayJobIsNeverChanged},
		{"a RayJob of somebody else is left alone", rayJobOfSomebodyElseIsLeftAlone},
		{"with Kueue a RayJob stays suspended until that admits it", kueueResumesTheRayJob},
		{"a RayJob that somebody deletes is a run that is over", rayJobThatIsDeletedIsOver},
		{"down removes network policies and devices too", downRemovesFurtherKinds},
		{"the documented rights of a user are enough", userMayDoAll},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, newCluster(t, config))
		})
	}
}

func upIsIdempotent(t *testing.T, c *cluster) {
	run := c.run("disagg-raycluster")
	for _, action := range []string{"created", "unchanged"} {
		changes := c.up(run)
		require.Len(t, changes, 10)
		for _, change := range changes {
			require.Equal(t, action, change.Action, change.Object)
		}
	}
}

func upKeepsEndpoints(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	c.endpoint(run, "gym_head_server", "http://10.0.0.1:9090")
	c.up(run)
	require.Equal(t, map[string]string{"gym_head_server": "http://10.0.0.1:9090"}, c.status(run).Endpoints)
}

func jobSetSucceeds(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	w := c.wait(t.Context(), run)
	w.line("run disagg-job: Pending")
	c.pod(run, "rl-head", "rl", "head", readyStatus())
	w.line("cluster rl: head 1/1 ready")
	c.pod(run, "gym-workers-0", "gym", "workers", readyStatus())
	w.line("cluster gym: workers 1/2 ready")
	c.endpoint(run, "gym_head_server", "http://10.0.0.1:9090")
	w.line("endpoint gym_head_server: http://10.0.0.1:9090")
	c.pod(run, "driver", "rl", "driver", corev1.PodStatus{Phase: corev1.PodRunning})
	w.line("run disagg-job: Running")
	require.Equal(t, []launch.ClusterStatus{
		{Name: "gym", Head: launch.Count{Want: 1}, Workers: launch.Count{Ready: 1, Want: 2}},
		{Name: "rl", Head: launch.Count{Ready: 1, Want: 1}, Workers: launch.Count{Want: 1}},
	}, c.status(run).Clusters)

	c.endJobSet(run, v1alpha2.JobSetCompleted, "jobset completed successfully")
	status, err := w.end()
	require.NoError(t, err)
	require.Equal(t, launch.Succeeded, status.Phase)
	require.Empty(t, status.Reason)
}

func jobSetFails(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	w := c.wait(t.Context(), run)
	c.pod(run, "x", "gym", "head", failedStatus("ray", 137, "Error"))
	c.endJobSet(run, v1alpha2.JobSetFailed, "jobset failed")
	status, err := w.end()
	require.NoError(t, err)
	require.Equal(t, launch.Failed, status.Phase)
	require.Equal(t, "gym-head pod x: container ray ended with exit code 137", status.Reason)
}

func jobSetDeleted(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	w := c.wait(t.Context(), run)
	w.line("run disagg-job: Pending")
	c.delete(&v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: run.Metadata.Namespace, Name: run.Metadata.Name}})
	status, err := w.end()
	require.NoError(t, err)
	require.Equal(t, launch.Failed, status.Phase)
	require.Contains(t, status.Reason, "somebody deleted it")
}

func driverCompletes(t *testing.T, c *cluster) {
	run := c.run("disagg-raycluster")
	c.up(run)
	w := c.wait(t.Context(), run)
	c.endDriver(run, batchv1.JobComplete, "")
	status, err := w.end()
	require.NoError(t, err)
	require.Equal(t, launch.Succeeded, status.Phase)

	c.endpoint(run, v1alpha1.ErrorKey, "the gym head stopped")
	require.Equal(t, launch.Succeeded, c.status(run).Phase)
	require.Empty(t, c.status(run).Clusters, "they are on their way out")
	require.Empty(t, c.status(run).Endpoints)
}

func errorInRegistry(t *testing.T, c *cluster) {
	run := c.run("disagg-raycluster")
	c.up(run)
	w := c.wait(t.Context(), run)
	c.endpoint(run, v1alpha1.ErrorKey, "head of raycluster-gym restarted")
	status, err := w.end()
	require.NoError(t, err)
	require.Equal(t, launch.Failed, status.Phase)
	require.Equal(t, "head of raycluster-gym restarted", status.Reason)

	for _, name := range []string{"raycluster-rl", "raycluster-gym"} {
		c.delete(&rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: run.Metadata.Namespace, Name: name}})
	}
	require.Equal(t, launch.Failed, c.status(run).Phase)
	require.Empty(t, c.status(run).Clusters)
}

func driverFails(t *testing.T, c *cluster) {
	run := c.run("disagg-raycluster")
	c.up(run)
	c.pod(run, "d", "rl", "driver", failedStatus("driver", 1, "Error"))
	c.endDriver(run, batchv1.JobFailed, "Job has reached the specified backoff limit")
	status := c.status(run)
	require.Equal(t, launch.Failed, status.Phase)
	require.Equal(t, "driver pod d: container driver ended with exit code 1", status.Reason)
}

func endedIsRefused(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	c.endJobSet(run, v1alpha2.JobSetFailed, "jobset failed")
	_, err := c.launcher.Up(t.Context(), run)
	ended := (*launch.EndedError)(nil)
	require.ErrorAs(t, err, &ended)
	require.EqualError(t, err, "run disagg-job has ended (Failed: jobset failed)")
}

func upRefusesOtherBackend(t *testing.T, c *cluster) {
	run := c.run("disagg-raycluster")
	c.up(run)
	other := *run
	other.Spec.Backend = v1alpha1.BackendJobSet
	_, err := c.launcher.Up(t.Context(), &other)
	require.EqualError(t, err, "run raycluster is under way with RayCluster/raycluster-gym and 5 more, which this file does not have (backend was raycluster)")
	require.ErrorAs(t, err, new(*launch.OtherShapeError))
	err = c.client.Get(t.Context(), client.ObjectKey{Namespace: run.Metadata.Namespace, Name: run.Metadata.Name}, &v1alpha2.JobSet{})
	require.True(t, apierrors.IsNotFound(err), "nothing is applied: %v", err)
	require.Equal(t, v1alpha1.BackendRayCluster, c.status(run).Backend)
}

func upRefusesOtherCluster(t *testing.T, c *cluster) {
	run := c.run("disagg-raycluster")
	c.up(run)
	other := *run
	other.Spec.Clusters = slices.Clone(run.Spec.Clusters)
	other.Spec.Clusters[1].Name = "env"
	_, err := c.launcher.Up(t.Context(), &other)
	require.EqualError(t, err, "run raycluster is under way with RayCluster/raycluster-gym, which this file does not have")
	require.Len(t, c.status(run).Clusters, 2)
}

func upRefusesChange(t *testing.T, c *cluster) {
	for example, want := range map[string]string{
		"disagg-jobset":     "JobSet/%s/disagg-job cannot be changed while it is there (spec.replicatedJobs is immutable)",
		"disagg-raycluster": "RayCluster/%s/raycluster-rl cannot be changed while it is there (spec.headGroupSpec, spec.workerGroupSpecs are immutable)",
	} {
		run := c.run(example)
		c.up(run)
		run.Spec.Image = "trainer:2"
		_, err := c.launcher.Up(t.Context(), run)
		require.EqualError(t, err, fmt.Sprintf(want, run.Metadata.Namespace))
	}
	run := c.run("disagg-raycluster")
	c.up(run)
	run.Spec.Driver.Command = []string{"other"}
	_, err := c.launcher.Up(t.Context(), run)
	require.EqualError(t, err, "Job/"+run.Metadata.Namespace+"/raycluster-driver cannot be changed while it is there (spec.template is immutable)")
	changed := (*launch.ChangedError)(nil)
	require.ErrorAs(t, err, &changed)
	require.Equal(t, "raycluster", changed.Name)
}

func upWithoutNamespace(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	run.Metadata.Namespace = "nowhere"
	_, err := c.launcher.Up(t.Context(), run)
	missing := (*launch.NoNamespaceError)(nil)
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "nowhere", missing.Namespace)
}

func notFound(t *testing.T, c *cluster) {
	_, err := c.launcher.Status(t.Context(), "default", "nobody")
	require.ErrorIs(t, err, launch.ErrNotFound)
	_, err = c.launcher.Wait(t.Context(), "default", "nobody", func(string) {})
	require.ErrorIs(t, err, launch.ErrNotFound)
}

func waitStops(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	ctx, cancel := context.WithCancel(t.Context())
	w := c.wait(ctx, run)
	w.line("run disagg-job: Pending")
	cancel()
	_, err := w.end()
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, launch.Pending, c.status(run).Phase)
}

func waitSeesRemoval(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	w := c.wait(t.Context(), run)
	w.line("run disagg-job: Pending")
	// What `down` does, but at once: it deletes the JobSet first, and a Wait that looks in between sees only that.
	c.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: run.Metadata.Namespace, Name: v1alpha1.ConfigMapName(run.Metadata.Name)}})
	c.delete(&v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: run.Metadata.Namespace, Name: run.Metadata.Name}})
	_, err := w.end()
	require.ErrorIs(t, err, launch.ErrRemoved)
}

func downWaits(t *testing.T, c *cluster) {
	run := c.run("disagg-raycluster")
	c.up(run)
	pod := c.pod(run, "rl-head", "rl", "head", readyStatus())
	// Nothing collects garbage here: the pod goes when the test says so.
	pods, err := c.client.Watch(t.Context(), &rayv1.RayClusterList{}, client.InNamespace(run.Metadata.Namespace))
	require.NoError(t, err)
	defer pods.Stop()
	go func() {
		for event := range pods.ResultChan() {
			if event.Type == "DELETED" {
				_ = c.client.Delete(context.WithoutCancel(t.Context()), pod, client.GracePeriodSeconds(0))
			}
		}
	}()
	removal, err := c.down(run)
	require.NoError(t, err)
	require.Len(t, removal.Removed, 10)
	require.Empty(t, removal.Absent)
	require.Contains(t, removal.Removed, "RayCluster/"+run.Metadata.Namespace+"/raycluster-gym")
	_, err = c.launcher.Status(t.Context(), run.Metadata.Namespace, run.Metadata.Name)
	require.ErrorIs(t, err, launch.ErrNotFound)

	again, err := c.down(run)
	require.NoError(t, err)
	require.Empty(t, again.Removed)
}

func downTimesOut(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	c.pod(run, "stuck", "rl", "head", readyStatus())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var lines []string
	removal, err := c.launcher.Down(ctx, run.Metadata.Namespace, run.Metadata.Name, func(line string) { lines = append(lines, line) })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "Pod stuck")
	require.Equal(t, []string{"JobSet/" + run.Metadata.Namespace + "/disagg-job"}, removal.Removed)
	require.Equal(t, []string{"waiting for pod stuck to stop"}, lines)

	// What is half removed is neither failed nor to be brought up again.
	status := c.status(run)
	require.Equal(t, launch.Removing, status.Phase)
	require.Contains(t, status.Reason, "being removed since 20")
	_, err = c.launcher.Up(t.Context(), run)
	require.EqualError(t, err, "run disagg-job is being removed")
	require.ErrorAs(t, err, new(*launch.RemovingError))
	w := c.wait(t.Context(), run)
	w.line("run disagg-job: Removing: " + status.Reason)

	c.delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Metadata.Namespace, Name: "stuck"}})
	_, err = c.down(run)
	require.NoError(t, err)
	_, err = w.end()
	require.ErrorIs(t, err, launch.ErrRemoved)
}

func downLeavesOthers(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	c.up(run)
	other := *run
	other.Metadata.Name = "other"
	c.up(&other)
	_, err := c.down(run)
	require.NoError(t, err)
	require.Equal(t, launch.Pending, c.status(&other).Phase)
}

func downRemovesFurtherKinds(t *testing.T, c *cluster) {
	run := c.run("disagg-jobset")
	run.Spec.NetworkPolicy = true
	run.Spec.Claims = []v1alpha1.Claim{{Name: "roce", Devices: &v1alpha1.DeviceClaim{DeviceClass: "roce.example.com"}}}
	run.Spec.Clusters[0].Head.Claims = []string{"roce"}
	run.SetDefaults()
	c.up(run)
	removal, err := c.down(run)
	require.NoError(t, err)
	for _, object := range []string{"NetworkPolicy/%s/disagg-job", "ResourceClaimTemplate/%s/disagg-job-rl-roce"} {
		require.Contains(t, removal.Removed, fmt.Sprintf(object, run.Metadata.Namespace))
	}
}

// Without the controllers' CRDs the cluster is told apart from a broken one, and a run can still be removed.
func userMayDoAll(t *testing.T, c *cluster) {
	var runs []*v1alpha1.Run
	for _, example := range []string{"disagg-jobset", "disagg-raycluster", "disagg-rayjob"} {
		run := c.run(example)
		run.Spec.NetworkPolicy = true
		runs = append(runs, run)
		run.Metadata.Namespace = runs[0].Metadata.Namespace
	}
	c.asUser(runs[0].Metadata.Namespace)
	for _, run := range runs {
		c.up(run)
		ctx, stop := context.WithCancel(t.Context())
		w := c.wait(ctx, run)
		w.line("run " + run.Metadata.Name + ": Pending")
		stop()
		_, err := w.end()
		require.ErrorIs(t, err, context.Canceled)
		removal, err := c.down(run)
		require.NoError(t, err)
		require.NotEmpty(t, removal.Removed)
	}
}

func TestAClusterWithoutTheControllers(t *testing.T) {
	env := testenv.Environment(t)
	env.CRDDirectoryPaths = nil
	config, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	c := newCluster(t, rest.CopyConfig(config))
	run := c.run("disagg-jobset")

	_, err = c.launcher.Up(t.Context(), run)
	missing := (*launch.MissingKindError)(nil)
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "JobSet", missing.Kind)

	removal, err := c.down(run)
	require.NoError(t, err)
	require.Empty(t, removal.Removed, "Up must create nothing when one kind is missing")
	require.Equal(t, []string{"JobSet", "RayJob", "RayCluster"}, removal.Absent)
}
