package launch

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

const noGPUs = "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient nvidia.com/gpu. " +
	"no new claims to deallocate, preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."

func pendingPod(name, group string, status corev1.PodStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", Labels: v1alpha1.Labels("r", "rl", group)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray", Image: "trainer:1"}}},
		Status:     status,
	}
}

func unschedulable(message string) corev1.PodStatus {
	return corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message},
	}}
}

func waits(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "ray", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
	}}
}

func TestAPendingRunSaysWhatHoldsItUp(t *testing.T) {
	t.Parallel()
	crashes := waits("CrashLoopBackOff", "back-off 40s restarting failed container=ray pod=x")
	crashes.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 127, Reason: "Error"}
	tests := []struct {
		name   string
		status corev1.PodStatus
		want   string
	}{
		{"no node", unschedulable(noGPUs), "rl-head pod i: Unschedulable: node(s) had untolerated taint {a: b}, Insufficient nvidia.com/gpu"},
		{"no image", waits("ErrImagePull", "not found"), `rl-head pod i: container ray: cannot pull image "trainer:1": not found`},
		{"no image, and the kubelet waits", waits("ImagePullBackOff", `Back-off pulling image "trainer:1": ErrImagePull: failed to pull and unpack image "trainer:1": failed to resolve reference "trainer:1": not found`), `rl-head pod i: container ray: cannot pull image "trainer:1": not found`},
		{"a container that fails", crashes, "rl-head pod i: container ray ended with exit code 127 (command not found), again and again"},
		{"a bad configuration", waits("CreateContainerConfigError", `secret "s" not found`), `rl-head pod i: container ray: CreateContainerConfigError: secret "s" not found`},
		{"nothing", waits("PodInitializing", ""), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reason, _ := waitingFor([]corev1.Pod{pendingPod("i", "head", tt.status)})
			require.Equal(t, tt.want, reason)
		})
	}
}

func TestPodsThatAreHeldUpAlikeAreCounted(t *testing.T) {
	t.Parallel()
	all := []corev1.Pod{
		pendingPod("a", "gpu-workers", corev1.PodStatus{}),
		pendingPod("b", "gpu-workers", unschedulable("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")),
		pendingPod("c", "head", waits("ErrImagePull", "not found")),
		pendingPod("d", "gpu-workers", unschedulable("0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: none")),
		pendingPod("e", "gpu-workers", corev1.PodStatus{}),
	}
	want := "2 of 4 rl-gpu-workers pods: Unschedulable: Insufficient nvidia.com/gpu"
	reason, hint := waitingFor(all)
	require.Equal(t, want, reason)
	require.Contains(t, hint, "free GPUs")
	slices.Reverse(all)
	reason, _ = waitingFor(all)
	require.Equal(t, want, reason, "whatever the order")
}

// The driver of a RayCluster run does not wait for the workers.
func TestARunningRunSaysWhatHoldsItUp(t *testing.T) {
	t.Parallel()
	driver := pendingPod("d", v1alpha1.GroupDriver, corev1.PodStatus{Phase: corev1.PodRunning})
	status := assess(&snapshot{name: "r", driver: &batchv1.Job{}, pods: []corev1.Pod{driver, pendingPod("w", "gpu-workers", unschedulable(noGPUs))}})
	require.Equal(t, Running, status.Phase)
	require.Contains(t, status.Reason, "rl-gpu-workers pod w: Unschedulable")
	require.NotEmpty(t, status.hint)
}

func TestAHindranceThatLastsGetsOneHint(t *testing.T) {
	t.Parallel()
	var p patience
	start := time.Unix(0, 0)
	held := Status{Name: "r", Phase: Pending, hint: "is spec.image right?"}
	line, at := p.look(held, start)
	require.Empty(t, line)
	require.Equal(t, start.Add(time.Minute), at)
	line, _ = p.look(held, start.Add(30*time.Second))
	require.Empty(t, line)
	line, at = p.look(Status{Name: "r", Phase: Pending}, start.Add(40*time.Second))
	require.Empty(t, line, "while it is tried again")
	require.Zero(t, at)
	line, at = p.look(held, start.Add(time.Minute))
	require.Equal(t, "hint: is spec.image right?; tandem down r ends it", line)
	require.Zero(t, at)
	line, _ = p.look(held, start.Add(time.Hour))
	require.Empty(t, line, "once")
	_, at = p.look(Status{Name: "r", Phase: Running}, start)
	require.Zero(t, at)
}
