package fakeray

import (
	"encoding/json"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// merge is a JSON merge patch: nobody else writes what it holds.
func merge(content any) client.Patch {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err) // only literals of this package are encoded
	}
	return client.RawPatch(types.MergePatchType, raw)
}

// clusterStatus is a RayCluster whose pods were all ready once. Its state stays ready whatever its head does.
func clusterStatus(headReady metav1.ConditionStatus) client.Patch {
	now := metav1.Now()
	reason := "HeadPodRunningAndReady"
	if headReady != metav1.ConditionTrue {
		reason = "ContainersNotReady"
	}
	return merge(map[string]any{"status": map[string]any{
		"state": rayv1.Ready,
		"conditions": []metav1.Condition{
			{Type: string(rayv1.HeadPodReady), Status: headReady, Reason: reason, LastTransitionTime: now},
			{Type: string(rayv1.RayClusterProvisioned), Status: metav1.ConditionTrue, Reason: rayv1.AllPodRunningAndReadyFirstTime, LastTransitionTime: now},
		},
	}})
}

// podStatus is a pod whose one main container runs, and was killed so often before.
func podStatus(container string, restarts int32) client.Patch {
	status := corev1.ContainerStatus{
		Name: container, Ready: true, RestartCount: restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}
	if restarts > 0 {
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: metav1.Now()}
	}
	return merge(map[string]any{"status": corev1.PodStatus{
		Phase:             corev1.PodRunning,
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
		ContainerStatuses: []corev1.ContainerStatus{status},
	}})
}
