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

func failStatus(s *snapshot, message string) Status {
	var status Status
	s.fail(&status, message, time.Time{})
	return status
}

func TestAReasonNamesThePodThatFailedFirst(t *testing.T) {
	t.Parallel()
	s := &snapshot{pods: []corev1.Pod{
		failedPod("b", "workers", 20, "ray", 143),
		failedPod("a", "head", 10, "ray", 137),
	}}
	status := failStatus(s, "jobset failed")
	require.Equal(t, "gym-head pod a: container ray ended with exit code 137, and 1 more", status.Reason)
	require.Equal(t, &FailedContainer{Pod: "a", Container: "ray"}, status.Failed)
}

func TestAReasonStaysShort(t *testing.T) {
	t.Parallel()
	s := &snapshot{}
	for i := range 10 {
		s.pods = append(s.pods, failedPod("p", "workers", i, "ray", 1))
	}
	require.Equal(t, "gym-workers pod p: container ray ended with exit code 1, and 9 more", failStatus(s, "x").Reason)
}

func TestWhatTheRunReportedComesBeforeWhatKubernetesSaw(t *testing.T) {
	t.Parallel()
	s := &snapshot{
		configMap: &corev1.ConfigMap{Data: map[string]string{v1alpha1.ErrorKey: "NCCL timed out"}},
		pods:      []corev1.Pod{failedPod("a", "head", 10, "ray", 137)},
	}
	status := failStatus(s, "jobset failed")
	require.Equal(t, "NCCL timed out", status.Reason)
	require.Nil(t, status.Failed, "it names no pod")
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
		{"a wait that ran out of time says so", failedPod("w", "driver", 1, "wait-for-head", 3), []string{"driver pod w: container wait-for-head ended with exit code 3, what it waits for did not answer within startupGrace"}},
		{"an evicted pod has no exit code but a reason", evicted, []string{"gym-head pod e: Evicted: the node was low on memory"}},
		{"a sidecar's exit is not what failed", failedPod("s", "head", 1, "registry", 2), []string{"gym-head pod s: failed"}},
		{"a pod that runs has not failed", running, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			texts := []string{}
			for _, end := range podEnds([]corev1.Pod{tt.pod}) {
				texts = append(texts, end.text)
			}
			require.Equal(t, tt.want, texts)
		})
	}
}

func TestAReasonStaysWhatItWasWhenMorePodsGo(t *testing.T) {
	t.Parallel()
	s := &snapshot{pods: []corev1.Pod{failedPod("a", "head", 10, "ray", 1), failedPod("b", "workers", 9, "ray", 1)}}
	var before, after Status
	s.fail(&before, "jobset failed", time.Unix(11, 0))
	s.pods = append(s.pods, failedPod("c", "workers", 20, "ray", 143))
	s.fail(&after, "jobset failed", time.Unix(11, 0))
	require.Equal(t, "gym-workers pod b: container ray ended with exit code 1, and 1 more", before.Reason)
	require.Equal(t, before, after)
}

func TestADriverThatFailedIsNotExplainedOtherwiseOnceThatIsReported(t *testing.T) {
	t.Parallel()
	s := &snapshot{name: "r", pods: []corev1.Pod{failedPod("r-driver-x", "driver", 10, "driver", 127)}}
	before := failStatus(s, "Job has reached the specified backoff limit")
	require.Equal(t, "driver pod r-driver-x: container driver ended with exit code 127 (command not found)", before.Reason)
	s.configMap = &corev1.ConfigMap{Data: map[string]string{v1alpha1.ErrorKey: "driver Job r-driver failed: BackoffLimitExceeded: Job has reached the specified backoff limit"}}
	require.Equal(t, before, failStatus(s, "Job has reached the specified backoff limit"))
}

func TestAReportedReasonLeadsToThePodThatItNames(t *testing.T) {
	t.Parallel()
	pod := func(name string, restarts int32) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: v1alpha1.Labels("r", "gym", "head")},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray"}}},
			Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "ray", RestartCount: restarts}}},
		}
	}
	s := &snapshot{
		configMap: &corev1.ConfigMap{Data: map[string]string{v1alpha1.ErrorKey: "pod r-gym-1: gym-server ended with exit code 127"}},
		pods:      []corev1.Pod{pod("r-gym-1", 1), pod("r-gym", 0), pod("r-rl", 0)},
	}
	status := failStatus(s, "")
	require.Equal(t, "pod r-gym-1: gym-server ended with exit code 127 (command not found)", status.Reason)
	require.Equal(t, &FailedContainer{Pod: "r-gym-1", Container: "ray", Restarted: true}, status.Failed)
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
