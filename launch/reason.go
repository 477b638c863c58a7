package launch

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// deadlineCode is the exit code of `registry wait` when nothing answered in time.
const deadlineCode = 3

// FailedContainer is where a failure began, as far as its pod is still there.
type FailedContainer struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	// Restarted: the log of the failure is that of the container's previous instance.
	Restarted bool `json:"restarted,omitempty"`
}

// podEnd is how a pod failed.
type podEnd struct {
	text   string
	at     time.Time
	failed FailedContainer
}

// fail fills in why a run failed: what its parts reported to the registry, or else its first failed pod, or else the workload's message.
// What failed after the run's end is a consequence, and not counted.
func (s *snapshot) fail(status *Status, message string, end time.Time) {
	ends := podEnds(s.pods)
	if s.rayJob != nil && rayJobEnded(s.rayJob) {
		ends = nil // its pods have been told to stop, and the message says what was before that
	}
	reported := s.registryError()
	if reported != "" && !s.repeats(reported, len(ends) > 0) {
		status.Phase, status.Reason, status.Failed = Failed, explainCode(reported), namedIn(reported, s.pods)
		return
	}
	status.Phase, status.Reason = Failed, message
	if len(ends) == 0 {
		return
	}
	more := 0
	for _, e := range ends[1:] {
		if end.IsZero() || !e.at.After(end) {
			more++
		}
	}
	status.Reason, status.Failed = ends[0].text, &ends[0].failed
	if more > 0 {
		status.Reason += fmt.Sprintf(", and %d more", more)
	}
}

// repeats tells whether a report says only that the driver failed. Its Job says so itself; its pod says more, and says the same before it
// is reported. So does the status of a RayJob.
func (s *snapshot) repeats(reported string, podFailed bool) bool {
	if s.rayJob != nil && rayJobEnded(s.rayJob) {
		return strings.HasPrefix(strings.TrimPrefix(reported, "driver "), "RayJob "+s.rayJob.Name+" failed")
	}
	return podFailed && strings.HasPrefix(reported, "driver Job "+v1alpha1.DriverJobName(s.name)+" failed")
}

// podEnds describes the failed pods in the order in which they failed.
func podEnds(all []corev1.Pod) []podEnd {
	var list []podEnd
	for _, pod := range all {
		if end := endOf(pod); end != nil {
			end.text = fmt.Sprintf("%s pod %s: %s", role(pod), pod.Name, end.text)
			end.failed.Pod = pod.Name
			list = append(list, *end)
		}
	}
	slices.SortStableFunc(list, func(a, b podEnd) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.text, b.text))
	})
	return list
}

// namedIn is the container of the pod that a reason names. Of two names that it holds, the longer one is meant.
func namedIn(reason string, all []corev1.Pod) *FailedContainer {
	var failed *FailedContainer
	for _, pod := range all {
		if !strings.Contains(reason, pod.Name) || failed != nil && len(failed.Pod) > len(pod.Name) || len(pod.Spec.Containers) == 0 {
			continue
		}
		failed = &FailedContainer{Pod: pod.Name, Container: pod.Spec.Containers[0].Name}
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == failed.Container {
				failed.Restarted = status.RestartCount > 0 && status.State.Terminated == nil
			}
		}
	}
	return failed
}

// codes are exit codes that a shell gives to a command that it could not run.
var codes = map[string]string{"126": "the command cannot be executed", "127": "command not found"}

var codeAtEnd = regexp.MustCompile(`exit code (126|127)$`)

// explainCode adds what an exit code means.
func explainCode(text string) string {
	if code := codeAtEnd.FindStringSubmatch(text); code != nil {
		return text + " (" + codes[code[1]] + ")"
	}
	return text
}

// role is how a pod's part in the run is called: rl-head, gym-workers, driver.
func role(pod corev1.Pod) string {
	group := pod.Labels[v1alpha1.LabelGroup]
	if group == v1alpha1.GroupDriver {
		return group
	}
	return v1alpha1.ReplicatedJobName(pod.Labels[v1alpha1.LabelCluster], group)
}

// endOf says how a pod failed; nil for a pod that has not.
func endOf(pod corev1.Pod) *podEnd {
	if pod.Status.Phase != corev1.PodFailed {
		return nil
	}
	for _, status := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		end := status.State.Terminated
		if end == nil || end.ExitCode == 0 || isSidecar(pod, status.Name) {
			continue
		}
		text := fmt.Sprintf("container %s %s", status.Name, describeEnd(end))
		if strings.HasPrefix(status.Name, "wait-for-") && end.ExitCode == deadlineCode {
			text += ", what it waits for did not answer within startupGrace"
		}
		return &podEnd{text, end.FinishedAt.Time, FailedContainer{Container: status.Name}}
	}
	end := &podEnd{text: "failed", at: lastChange(pod)}
	if pod.Status.Reason != "" || pod.Status.Message != "" {
		end.text = strings.Trim(pod.Status.Reason+": "+pod.Status.Message, ": ")
	}
	if len(pod.Spec.Containers) > 0 {
		end.failed.Container = pod.Spec.Containers[0].Name
	}
	return end
}

// describeEnd says how a container ended. The kubelet's "Error" says no more than a code that is not 0.
func describeEnd(end *corev1.ContainerStateTerminated) string {
	text := explainCode(fmt.Sprintf("ended with exit code %d", end.ExitCode))
	switch end.Reason {
	case "", "Error", "Completed":
		return text
	case "StartError", "ContainerCannotRun": // there was no process: the code is made up
		return fmt.Sprintf("did not start: %s", end.Message)
	}
	return fmt.Sprintf("%s (%s)", text, end.Reason)
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
