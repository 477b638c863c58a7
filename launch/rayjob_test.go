package launch

import (
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// rayJobRun is a run of two clusters whose RayJob says this.
func rayJobRun(status rayv1.RayJobStatus, registryError string) *snapshot {
	labels := map[string]string{v1alpha1.LabelBackend: string(v1alpha1.BackendRayJob)}
	return &snapshot{
		name:      "r",
		configMap: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Data: map[string]string{v1alpha1.ErrorKey: registryError}},
		rayJob: &rayv1.RayJob{
			ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: v1alpha1.Labels("r", "rl", "")},
			Spec:       rayv1.RayJobSpec{RayClusterSpec: &rayv1.RayClusterSpec{WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{Replicas: new(int32(4))}}}},
			Status:     status,
		},
	}
}

func exited(code, log string) rayv1.RayJobStatus {
	message := "Job entrypoint command failed with exit code " + code + ", last available logs (truncated to 20,000 chars):\n" + log
	return rayv1.RayJobStatus{JobDeploymentStatus: "Failed", JobStatus: "FAILED", Reason: "AppFailed", Message: message}
}

func TestARayJobsStatusIsTheRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		status   rayv1.RayJobStatus
		reported string
		phase    Phase
		reason   string
	}{
		{"KubeRay has not looked at it", rayv1.RayJobStatus{}, "", Pending, ""},
		{"its pods start", rayv1.RayJobStatus{JobDeploymentStatus: "Initializing", RayClusterName: "r-x"}, "", Pending, ""},
		{
			"it misses the submission",
			rayv1.RayJobStatus{JobDeploymentStatus: "Running", DashboardURL: "r-head:8265"},
			"",
			Pending, "KubeRay is to submit the driver of RayJob r",
		},
		{"the job waits for the head", rayv1.RayJobStatus{JobDeploymentStatus: "Running", JobStatus: "PENDING"}, "", Pending, ""},
		{"the job runs", rayv1.RayJobStatus{JobDeploymentStatus: "Running", JobStatus: "RUNNING"}, "", Running, ""},
		{"the job has ended and KubeRay takes notice", rayv1.RayJobStatus{JobDeploymentStatus: "Running", JobStatus: "FAILED"}, "", Running, ""},
		{"success", rayv1.RayJobStatus{JobDeploymentStatus: "Complete", JobStatus: "SUCCEEDED"}, "", Succeeded, ""},
		{"success, whatever is said on the way down", rayv1.RayJobStatus{JobDeploymentStatus: "Complete", JobStatus: "SUCCEEDED"}, "the gym head stopped", Succeeded, ""},
		{
			"a stopped job, which KubeRay calls complete",
			rayv1.RayJobStatus{JobDeploymentStatus: "Complete", JobStatus: "STOPPED", JobId: "r-1"},
			"",
			Failed, "the driver was stopped (Ray job r-1)",
		},
		{"an exit code", exited("7", "Traceback:\n  ...\nValueError: lr\n\n"), "", Failed, "the driver ended with exit code 7: ValueError: lr"},
		{"an exit code that a shell explains", exited("127", "sh: trian: not found"), "", Failed, "the driver ended with exit code 127 (command not found): sh: trian: not found"},
		{"a signal, in Python's words", exited("-9", ""), "", Failed, "the driver ended with exit code 137"},
		{
			"an exit code without a log",
			rayv1.RayJobStatus{JobDeploymentStatus: "Failed", JobStatus: "FAILED", Reason: "AppFailed", Message: "Job entrypoint command failed with exit code 3. No logs available."},
			"",
			Failed, "the driver ended with exit code 3",
		},
		{
			"a job that never ran",
			rayv1.RayJobStatus{JobDeploymentStatus: "Failed", JobStatus: "FAILED", Reason: "AppFailed", Message: "runtime_env setup failed\nmore"},
			"",
			Failed, "the driver failed: runtime_env setup failed",
		},
		{
			"a deadline",
			rayv1.RayJobStatus{JobDeploymentStatus: "Failed", Reason: "PreRunningDeadlineExceeded", Message: "The RayJob has passed the preRunningDeadlineSeconds."},
			"",
			Failed, "RayJob r failed: PreRunningDeadlineExceeded: The RayJob has passed the preRunningDeadlineSeconds.",
		},
		{
			"a validation that failed is final",
			rayv1.RayJobStatus{JobDeploymentStatus: "ValidationFailed", Reason: "ValidationFailed", Message: "The RayJob spec is invalid: x"},
			"",
			Failed, "KubeRay does not accept RayJob r: The RayJob spec is invalid: x",
		},
		{"what peerwatch reports, while it runs", rayv1.RayJobStatus{JobDeploymentStatus: "Running", JobStatus: "RUNNING"}, "gym-server ended", Failed, "gym-server ended"},
		{"what peerwatch reports, and the driver fails of", exited("1", "connection refused"), "gym-server ended with exit code 137", Failed, "gym-server ended with exit code 137"},
		{"what peerwatch only repeats", exited("7", ""), "driver RayJob r failed: Failed: AppFailed: Job entrypoint ...", Failed, "the driver ended with exit code 7"},
		{
			"a retry",
			rayv1.RayJobStatus{JobDeploymentStatus: "Retrying", JobStatus: "FAILED", Reason: "AppFailed", Message: "Job entrypoint command failed with exit code 3. No logs available."},
			"",
			Pending, "RayJob r starts again: the driver ended with exit code 3",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := rayJobRun(tt.status, tt.reported)
			s.pods = []corev1.Pod{failedPod("r-gym-head-x", "head", 10, "ray", 143)} // on the way down
			status := assess(s)
			require.Equal(t, tt.phase, status.Phase)
			require.Equal(t, tt.reason, status.Reason)
		})
	}
}

func TestARayJobThatIsHeldOrGoneSaysSo(t *testing.T) {
	t.Parallel()
	s := rayJobRun(rayv1.RayJobStatus{JobDeploymentStatus: "Suspended"}, "")
	s.rayJob.Spec.Suspend = true
	require.Equal(t, "RayJob r is suspended", assess(s).Reason)
	s.rayJob.Annotations = map[string]string{annotationStarting: "2026-01-02T03:04:05Z"}
	status := assess(s)
	require.Equal(t, Pending, status.Phase)
	require.Equal(t, "RayJob r is held until what it needs is there, since 2026-01-02T03:04:05Z", status.Reason)
	s.rayJob.DeletionTimestamp = &metav1.Time{}
	require.Equal(t, Failed, assess(s).Phase)
	s.rayJob = nil
	require.Equal(t, "RayJob r is gone: somebody deleted it", assess(s).Reason)
	s.configMap.Data[v1alpha1.ErrorKey] = "head of RayJob r restarted"
	require.Equal(t, "head of RayJob r restarted", assess(s).Reason)
}

// KubeRay deletes the pod of the driver with its cluster; the job's message is all that is left of its log.
func TestTheLastLinesOfARayJobsDriverAreKept(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("step\n", 100) + "CUDA out of memory\n"
	kept := assess(rayJobRun(exited("7", log), "")).PostMortem
	require.Len(t, kept, 1)
	require.Equal(t, "the driver ended with exit code 7", kept[0].String())
	require.True(t, strings.HasSuffix(kept[0].Log, "\nstep\nCUDA out of memory"))
	require.Equal(t, driverLines, len(strings.Split(kept[0].Log, "\n")))
	require.Empty(t, assess(rayJobRun(rayv1.RayJobStatus{JobDeploymentStatus: "Complete", JobStatus: "STOPPED"}, "")).PostMortem)
}

func TestPodsOfARayJobAreCountedByTheClusterThatItHasNow(t *testing.T) {
	t.Parallel()
	s := rayJobRun(rayv1.RayJobStatus{JobDeploymentStatus: "Initializing", RayClusterName: "r-2"}, "")
	owned := func(name string, replicas int32) rayv1.RayCluster {
		return rayv1.RayCluster{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: v1alpha1.Labels("r", "rl", ""),
				OwnerReferences: []metav1.OwnerReference{{Kind: "RayJob", Name: "r", Controller: new(true)}},
			},
			Spec: rayv1.RayClusterSpec{WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{Replicas: &replicas}}},
		}
	}
	pod := func(rayCluster, cluster string) corev1.Pod {
		labels := v1alpha1.Labels("r", cluster, "workers")
		labels[labelRayCluster] = rayCluster
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}}}
	}
	gym := rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "r-gym", Labels: v1alpha1.Labels("r", "gym", "")}}
	s.rayClusters = []rayv1.RayCluster{owned("r-1", 4), gym}
	s.pods = []corev1.Pod{pod("r-1", "rl"), pod("r-2", "rl"), pod("r-gym", "gym")}
	want := func(workers int32) []ClusterStatus {
		return []ClusterStatus{
			{Name: "gym", Head: Count{Want: 1}, Workers: Count{Ready: 1}},
			{Name: "rl", Head: Count{Want: 1}, Workers: Count{Ready: 1, Want: workers}},
		}
	}
	require.Equal(t, want(4), assess(s).Clusters, "before KubeRay has made the next cluster")
	s.rayClusters = append(s.rayClusters, owned("r-2", 5))
	require.Equal(t, want(5), assess(s).Clusters, "a cluster that the autoscaler has grown")
}
