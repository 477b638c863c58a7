package launch

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// hindrance is what holds pods up: no node, no image, a bad configuration.
type hindrance struct {
	rank int // of several, the first in the order of a pod's start is told
	text string
	hint string
}

// The ranks of hindrances.
const (
	noNode = iota
	noImage
	otherwise
)

// waitingFor says what holds a run up, where its pods know, and what may be done about it. It depends on the pods alone and not
// on their order, so that it changes only when they do.
func waitingFor(all []corev1.Pod) (reason, hint string) {
	type group struct {
		hindrance
		role string
		pods []string
	}
	groups, size := map[string]*group{}, map[string]int{}
	for _, pod := range all {
		size[role(pod)]++
		found := hindranceOf(pod)
		if found == nil {
			continue
		}
		key := role(pod) + "\n" + found.text
		if groups[key] == nil {
			groups[key] = &group{hindrance: *found, role: role(pod)}
		}
		groups[key].pods = append(groups[key].pods, pod.Name)
	}
	if len(groups) == 0 {
		return "", ""
	}
	var list []*group
	for _, g := range groups {
		list = append(list, g)
	}
	first := slices.MinFunc(list, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.role, b.role), cmp.Compare(a.text, b.text))
	})
	if size[first.role] == 1 {
		return fmt.Sprintf("%s pod %s: %s", first.role, first.pods[0], first.text), first.hint
	}
	return fmt.Sprintf("%d of %d %s pods: %s", len(first.pods), size[first.role], first.role, first.text), first.hint
}

// benign are reasons for which a container waits while all is well.
var benign = []string{"", "ContainerCreating", "PodInitializing"}

func hindranceOf(pod corev1.Pod) *hindrance {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return unscheduled(condition)
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := status.State.Waiting
		if waiting != nil && !slices.Contains(benign, waiting.Reason) {
			return held(pod, status, *waiting)
		}
	}
	return nil
}

func unscheduled(condition corev1.PodCondition) *hindrance {
	message := shortSchedulerMessage(condition.Message)
	h := &hindrance{noNode, strings.Trim(condition.Reason+": "+message, ": "), "no node takes the pods; kubectl get nodes shows what there is"}
	if strings.Contains(message, "Insufficient "+string(v1alpha1.ResourceGPU)) {
		h.hint = "no node has as many free GPUs as gpus asks for; kubectl describe nodes shows who holds them"
	}
	return h
}

var (
	nodeCount = regexp.MustCompile(`^\d+/\d+ nodes are available: `)
	eachCount = regexp.MustCompile(`(^|, )\d+ `)
	pullError = regexp.MustCompile(`^(Back-off pulling image "[^"]*": )?(ErrImagePull: )?(rpc error: code = \w+ desc = )?` +
		`(failed to pull and unpack image "[^"]*": )?(failed to resolve reference "[^"]*": )?`)
)

// shortSchedulerMessage leaves out the numbers of nodes, which change all the time, and what is said of remedies.
func shortSchedulerMessage(message string) string {
	message, _, _ = strings.Cut(message, ". ") // what follows is of claims and preemption
	message = nodeCount.ReplaceAllString(message, "")
	message = eachCount.ReplaceAllString(message, "$1")
	return strings.TrimRight(message, ". ")
}

// held is why a container does not start. Kubernetes alternates between two reasons for an image and counts the seconds between restarts;
// the text is the same for all of them.
func held(pod corev1.Pod, status corev1.ContainerStatus, waiting corev1.ContainerStateWaiting) *hindrance {
	// The hint is the same for all pods of a run: it is told once.
	describe := fmt.Sprintf("kubectl describe pods -n %s -l %s=%s says more", pod.Namespace, v1alpha1.LabelRun, pod.Labels[v1alpha1.LabelRun])
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		text := fmt.Sprintf("container %s: cannot pull image %q", status.Name, imageOf(pod, status.Name))
		if cause := pullError.ReplaceAllString(waiting.Message, ""); cause != "" && !strings.HasPrefix(cause, "Back-off") {
			text += ": " + cause
		}
		field := "spec.image"
		if isSidecar(pod, status.Name) || strings.HasPrefix(status.Name, "wait-for-") {
			field = "spec.sidecarImage"
		}
		return &hindrance{noImage, text, fmt.Sprintf("is %s right, and may the nodes pull it (spec.imagePullSecrets)? %s", field, describe)}
	case "CrashLoopBackOff":
		text := fmt.Sprintf("container %s fails again and again", status.Name)
		if end := status.LastTerminationState.Terminated; end != nil {
			text = fmt.Sprintf("container %s %s, again and again", status.Name, describeEnd(end))
		}
		return &hindrance{otherwise, text, fmt.Sprintf("kubectl logs %s -n %s -c %s --previous shows its log", pod.Name, pod.Namespace, status.Name)}
	}
	return &hindrance{otherwise, strings.Trim(fmt.Sprintf("container %s: %s: %s", status.Name, waiting.Reason, waiting.Message), ": "), describe}
}

func imageOf(pod corev1.Pod, container string) string {
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}
