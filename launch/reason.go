package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// maxFailures is how many failed pods a reason names; the first to fail is the one that matters.
const maxFailures = 3

// deadlineCode is the exit code of `registry wait` when nothing answered in time.
const deadlineCode = 3

// failure says why a run failed: what its parts reported to the registry, or else the workload's message and its failed pods.
func (s *snapshot) failure(message string) string {
	if reported := s.registryError(); reported != "" {
		return reported
	}
	failures := podFailures(s.pods)
	if len(failures) > maxFailures {
		failures = append(failures[:maxFailures], fmt.Sprintf("and %d more", len(failures)-maxFailures))
	}
	return strings.Join(append([]string{message}, failures...), "; ")
}

// podFailures describes the failed pods in the order in which they failed.
func podFailures(all []corev1.Pod) []string {
	type failed struct {
		text string
		at   time.Time
	}
	var list []failed
	for _, pod := range all {
		if text, at := podFailure(pod); text != "" {
			list = append(list, failed{fmt.Sprintf("%s pod %s: %s", role(pod), pod.Name, text), at})
		}
	}
	slices.SortStableFunc(list, func(a, b failed) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.text, b.text))
	})
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.text
	}
	return texts
}

// role is how a pod's part in the run is called: rl-head, gym-workers, driver.
func role(pod corev1.Pod) string {
	group := pod.Labels[v1alpha1.LabelGroup]
	if group == v1alpha1.GroupDriver {
		return group
	}
	return v1alpha1.ReplicatedJobName(pod.Labels[v1alpha1.LabelCluster], group)
}

// podFailure says what failed in a pod and when; "" for a pod that has not failed.
func podFailure(pod corev1.Pod) (string, time.Time) {
	if pod.Status.Phase != corev1.PodFailed {
		return "", time.Time{}
	}
	for _, status := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		end := status.State.Terminated
		if end == nil || end.ExitCode == 0 || isSidecar(pod, status.Name) {
			continue
		}
		text := fmt.Sprintf("container %s ended with exit code %d (%s)", status.Name, end.ExitCode, end.Reason)
		if strings.HasPrefix(status.Name, "wait-for-") && end.ExitCode == deadlineCode {
			text += ", what it waits for did not answer within startupGrace"
		}
		return text, end.FinishedAt.Time
	}
	if pod.Status.Reason == "" && pod.Status.Message == "" {
		return "failed", lastChange(pod)
	}
	return strings.Trim(pod.Status.Reason+": "+pod.Status.Message, ": "), lastChange(pod)
}

// isSidecar tells a native sidecar, which is stopped when its pod ends, whatever code it then exits with.
func isSidecar(pod corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}

// lastChange is when a pod without an exit code, such as an evicted one, changed last.
func lastChange(pod corev1.Pod) time.Time {
	var last time.Time
	for _, condition := range pod.Status.Conditions {
		if condition.LastTransitionTime.After(last) {
			last = condition.LastTransitionTime.Time
		}
	}
	return last
}

// benign are reasons for which a container waits while all is well.
var benign = []string{"", "ContainerCreating", "PodInitializing"}

// waitingFor says what holds a pending run up, where a pod knows: no node, no image, a bad configuration.
func waitingFor(all []corev1.Pod) string {
	for _, pod := range all {
		if text := hindrance(pod); text != "" {
			return fmt.Sprintf("%s pod %s: %s", role(pod), pod.Name, text)
		}
	}
	return ""
}

func hindrance(pod corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return fmt.Sprintf("%s: %s", condition.Reason, condition.Message)
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := status.State.Waiting
		if waiting != nil && !slices.Contains(benign, waiting.Reason) {
			return fmt.Sprintf("container %s: %s: %s", status.Name, waiting.Reason, waiting.Message)
		}
	}
	return ""
}
