package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

func failedPod(name, group string, second int, container string, code int32) corev1.Pod {
	end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", FinishedAt: metav1.NewTime(time.Unix(int64(second), 0))}
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: v1alpha1.Labels("r", "gym", group)},
		Spec: corev1.PodSpec{InitContainers: []corev1.Container{
			{Name: "registry", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, InitContainerStatuses: []corev1.ContainerStatus{
			{Name: container, State: corev1.ContainerState{Terminated: end}},
		}},
	}
}

func TestAReasonNamesThePodThatFailedFirst(t *testing.T) {
	t.Parallel()
	s := &snapshot{pods: []corev1.Pod{
		failedPod("b", "workers", 20, "ray", 143),
		failedPod("a", "head", 10, "ray", 137),
	}}
	require.Equal(t, "jobset failed; gym-head pod a: container ray ended with exit code 137 (Error); gym-workers pod b: container ray ended with exit code 143 (Error)",
		s.failure("jobset failed"))
}

func TestAReasonStaysShort(t *testing.T) {
	t.Parallel()
	s := &snapshot{}
	for i := range 10 {
		s.pods = append(s.pods, failedPod("p", "workers", i, "ray", 1))
	}
	require.Contains(t, s.failure("x"), "; and 7 more")
}

func TestWhatTheRunReportedComesBeforeWhatKubernetesSaw(t *testing.T) {
	t.Parallel()
	s := &snapshot{
		configMap: &corev1.ConfigMap{Data: map[string]string{v1alpha1.ErrorKey: "NCCL timed out"}},
		pods:      []corev1.Pod{failedPod("a", "head", 10, "ray", 137)},
	}
	require.Equal(t, "NCCL timed out", s.failure("jobset failed"))
}

func TestPodFailures(t *testing.T) {
	t.Parallel()
	evicted := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "e", Labels: v1alpha1.Labels("r", "gym", "head")},
		Status:     corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "the node was low on memory"},
	}
	running := failedPod("x", "head", 1, "ray", 1)
	running.Status.Phase = corev1.PodRunning
	tests := []struct {
		name string
		pod  corev1.Pod
		want []string
	}{
		{"a wait that ran out of time says so", failedPod("w", "driver", 1, "wait-for-head", 3), []string{"driver pod w: container wait-for-head ended with exit code 3 (Error), what it waits for did not answer within startupGrace"}},
		{"an evicted pod has no exit code but a reason", evicted, []string{"gym-head pod e: Evicted: the node was low on memory"}},
		{"a sidecar's exit is not what failed", failedPod("s", "head", 1, "registry", 2), []string{"gym-head pod s: failed"}},
		{"a pod that runs has not failed", running, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, podFailures([]corev1.Pod{tt.pod}))
		})
	}
}

func TestAPendingRunSaysWhatHoldsItUp(t *testing.T) {
	t.Parallel()
	unschedulable := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "u", Labels: v1alpha1.Labels("r", "rl", "gpu-workers")},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"},
		}},
	}
	waits := func(reason, message string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "i", Labels: v1alpha1.Labels("r", "rl", "head")},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
				{Name: "ray", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
			}},
		}
	}
	require.Equal(t, "rl-gpu-workers pod u: Unschedulable: 0/1 nodes are available", waitingFor([]corev1.Pod{unschedulable}))
	require.Equal(t, "rl-head pod i: container ray: ErrImagePull: no such image", waitingFor([]corev1.Pod{waits("ErrImagePull", "no such image")}))
	require.Empty(t, waitingFor([]corev1.Pod{waits("PodInitializing", "")}))
}

func TestTransitionsTellOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	first := Status{Name: "r", Phase: Pending, Clusters: []ClusterStatus{{Name: "rl", Head: Count{0, 1}}}}
	second := Status{
		Name: "r", Phase: Running, Clusters: []ClusterStatus{{Name: "rl", Head: Count{1, 1}}},
		Endpoints: map[string]string{"k": "http://x"},
	}
	third := Status{Name: "r", Phase: Failed, Reason: "gym died"}
	require.Equal(t, []string{"run r: Pending"}, transitions(Status{}, first))
	require.Empty(t, transitions(first, first))
	require.Equal(t, []string{"cluster rl: head 1/1 ready", "endpoint k: http://x", "run r: Running"}, transitions(first, second))
	require.Empty(t, transitions(second, third), "the end is what Wait returns")
}
