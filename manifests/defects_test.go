package manifests_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// The defects J1 to J10 of NeMo-RL's example manifests, each as what is rendered instead.

func jobs(t *testing.T, run *v1alpha1.Run) []v1alpha2.ReplicatedJob {
	t.Helper()
	return find[v1alpha2.JobSet](t, render(t, run), "JobSet").Spec.ReplicatedJobs
}

func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	require.GreaterOrEqual(t, at, 0, "no %s is rendered", kind)
	typed := new(T)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(objects[at].Object, typed))
	return typed
}

func TestJ1FailedPodsAndTheirLogsStay(t *testing.T) {
	t.Parallel()
	for _, job := range jobs(t, load(t, "disagg-jobset")) {
		require.Equal(t, corev1.RestartPolicyNever, job.Template.Spec.Template.Spec.RestartPolicy, job.Name)
		require.Zero(t, *job.Template.Spec.BackoffLimit, job.Name)
	}
}

func TestJ2APodThatTheClusterTakesAwayFailsTheRun(t *testing.T) {
	t.Parallel()
	js := find[v1alpha2.JobSet](t, render(t, load(t, "disagg-jobset")), "JobSet")
	for _, job := range js.Spec.ReplicatedJobs {
		rule := job.Template.Spec.PodFailurePolicy.Rules[0]
		require.Equal(t, batchv1.PodFailurePolicyActionFailJob, rule.Action, job.Name)
		require.Equal(t, corev1.DisruptionTarget, rule.OnPodConditions[0].Type, job.Name)
	}
	require.Len(t, js.Spec.FailurePolicy.Rules, len(js.Spec.ReplicatedJobs), "a rule for each role")
}

func TestJ3TheGangIsWholeOnEveryVersionOfKAIThatHasOne(t *testing.T) {
	t.Parallel()
	const annotation = "kai.scheduler/batch-min-member"
	for version, want := range map[string]string{"0.14.7": "9", "0.15.3": "9", "0.16.8": "", "0.17.0": ""} {
		run := square{backend: v1alpha1.BackendJobSet, with: v1alpha1.Scheduling{
			Scheduler: v1alpha1.SchedulerKAI, Queue: "q", KAIVersion: version,
		}}.run(t)
		js := find[v1alpha2.JobSet](t, render(t, run), "JobSet")
		require.Equal(t, want, js.Annotations[annotation], "pods on KAI %s; the default of 0.16 and later is all", version)
	}
}

// J4, that every wait is bounded, is TestEveryWaitIsBounded.

func TestJ5TheDriverIsNotEndedByItsLog(t *testing.T) {
	t.Parallel()
	for role, pod := range podsOf(t, load(t, "disagg-jobset")) {
		for _, container := range containers(pod) {
			require.NotContains(t, strings.Join(container.Command, " "), "| tee", role)
		}
	}
}

func TestJ6TheGymServerIsSupervised(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		ray := podsOf(t, load(t, example))["gym-head"].Spec.Containers[0]
		require.Contains(t, ray.Args, "gym-server", "the group's command runs under the start script")
		require.Contains(t, ray.Command[2], "ray start")
		require.Contains(t, ray.Command[2], "--block")
	}
}

func TestJ7AFinishedRunCanRemoveItself(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-jobset")
	run.Spec.TTLAfterFinished = &metav1.Duration{Duration: 90 * time.Minute}
	require.EqualValues(t, 5400, *find[v1alpha2.JobSet](t, render(t, run), "JobSet").Spec.TTLSecondsAfterFinished)
	run = load(t, "disagg-raycluster")
	run.Spec.TTLAfterFinished = &metav1.Duration{Duration: 90 * time.Minute}
	require.EqualValues(t, 5400, *find[batchv1.Job](t, render(t, run), "Job").Spec.TTLSecondsAfterFinished)
}

func TestJ8NamesThatWillNotFitAreRefusedBeforehand(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		run := load(t, example)
		run.Metadata.Name = strings.Repeat("r", 60)
		_, err := manifests.Render(run)
		require.ErrorContains(t, err, "metadata.name", example)
		require.ErrorContains(t, err, "at most", example)
	}
}

func TestJ9RaysOwnAutoscalerIsOff(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		for role, pod := range podsOf(t, load(t, example)) {
			if strings.HasSuffix(role, "-head") {
				require.Contains(t, pod.Spec.Containers[0].Args, "--no-monitor", "%s of %s", role, example)
			}
		}
	}
}

func TestJ10OneGangSpansAllClusters(t *testing.T) {
	t.Parallel()
	run := square{backend: v1alpha1.BackendRayCluster, with: v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "q"}}.run(t)
	objects := render(t, run)
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "PodGroup" })
	require.GreaterOrEqual(t, at, 0)
	for role, pod := range podsOf(t, run) {
		require.Equal(t, objects[at].GetName(), pod.Annotations["pod-group-name"], role)
	}
	first := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "RayCluster" })
	require.Less(t, at, first, "the gang is known before its pods")
}
