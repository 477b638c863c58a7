package peerwatch

import (
	"fmt"
	"slices"
	"strings"
)

// The parts of a pod that a decision needs, as JSON.

type pod struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Init []initContainer `json:"initContainers"`
	} `json:"spec"`
	Status struct {
		Phase      string            `json:"phase"`
		Reason     string            `json:"reason"`
		Message    string            `json:"message"`
		Conditions []condition       `json:"conditions"`
		Init       []containerStatus `json:"initContainerStatuses"`
		Containers []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type initContainer struct {
	Name          string `json:"name"`
	RestartPolicy string `json:"restartPolicy"` // Always: a native sidecar
}

type containerStatus struct {
	Name         string `json:"name"`
	Image        string `json:"image"`
	RestartCount int    `json:"restartCount"`
	State        state  `json:"state"`
	LastState    state  `json:"lastState"`
}

type state struct {
	Waiting    *waiting    `json:"waiting"`
	Running    *struct{}   `json:"running"`
	Terminated *terminated `json:"terminated"`
}

type waiting struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type terminated struct {
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason"`
}

func (s containerStatus) exit() *Exit {
	ended := s.State.Terminated
	if ended == nil {
		ended = s.LastState.Terminated
	}
	if ended == nil {
		return nil
	}
	return &Exit{Code: ended.ExitCode, Reason: ended.Reason}
}

// again: it ended, and its log is that of its last instance.
func (s containerStatus) again() bool {
	return s.State.Terminated == nil && s.LastState.Terminated != nil
}

const crashLoop = "CrashLoopBackOff"

func (s containerStatus) crashLoops() bool {
	return s.State.Waiting != nil && s.State.Waiting.Reason == crashLoop
}

// cannotStart are the reasons for which a container waits that somebody has to do something about.
var cannotStart = []string{
	"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable",
	"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// stuck says why the container does not start; empty if it does.
func (s containerStatus) stuck() string {
	if s.State.Waiting == nil || !slices.Contains(cannotStart, s.State.Waiting.Reason) {
		return ""
	}
	why := condition{Reason: s.State.Waiting.Reason, Message: s.State.Waiting.Message}.text()
	return fmt.Sprintf("container %q with image %q: %s", s.Name, s.Image, why)
}

// failing says how an init container failed; empty if it did not, or has ended well since.
func (s containerStatus) failing() string {
	exit := s.exit()
	if exit == nil || exit.Code == 0 {
		return ""
	}
	return fmt.Sprintf("init container %q failed (%s)", s.Name, exit)
}

func (p pod) isHead() bool { return p.Metadata.Labels[labelNodeType] == "head" }

func (p pod) level() Pod {
	containers := make([]Container, 0, len(p.Status.Containers))
	for _, s := range p.Status.Containers {
		containers = append(containers, Container{
			Name: s.Name, Restarts: s.RestartCount, Exit: s.exit(), Again: s.again(), CrashLoops: s.crashLoops(),
		})
	}
	level := Pod{
		Name: p.Metadata.Name, UID: p.Metadata.UID, Owner: p.Metadata.owner(), Group: p.Metadata.Labels[labelGroup],
		Created: p.Metadata.CreationTimestamp, Deleting: p.Metadata.deleting(), Disruption: p.disruption(),
		Failed: p.Status.Phase == "Failed", Done: p.Status.Phase == "Succeeded",
		Ready:     p.condition("Ready").Status == "True",
		Unstarted: p.unstarted(),
		Message:   condition{Reason: p.Status.Reason, Message: p.Status.Message}.text(), Containers: containers,
	}
	level.Trouble, level.TroubleText = p.trouble()
	level.Trying = level.Trouble == Stuck && p.tries()
	return level
}

// unstarted: the kubelet has answered, and nothing has run.
func (p pod) unstarted() bool {
	all := slices.Concat(p.Status.Init, p.Status.Containers)
	return len(all) > 0 && !slices.ContainsFunc(all, func(s containerStatus) bool {
		return s.State.Waiting == nil || s.exit() != nil || s.RestartCount > 0
	})
}

// tries: an init container runs.
func (p pod) tries() bool {
	return slices.ContainsFunc(p.inits(), func(s containerStatus) bool { return s.State.Running != nil })
}

// inits are the init containers that are to end.
func (p pod) inits() []containerStatus {
	return slices.DeleteFunc(slices.Clone(p.Status.Init), func(s containerStatus) bool {
		return slices.Contains(p.Spec.Init, initContainer{s.Name, "Always"})
	})
}

// trouble is the worst of what may pass by itself.
func (p pod) trouble() (Trouble, string) {
	if why := p.lost(); why != "" {
		return Lost, why
	}
	for _, s := range slices.Concat(p.Status.Init, p.Status.Containers) {
		if why := s.stuck(); why != "" {
			return Stuck, why
		}
	}
	for _, s := range p.inits() {
		if why := s.failing(); why != "" {
			return Stuck, why
		}
	}
	if c := p.condition("PodScheduled"); c.Status == "False" && c.Reason == "Unschedulable" {
		return Unschedulable, c.text()
	}
	return "", ""
}

// lost says why nobody knows how the pod is. When a node is silent the control plane takes away the pod's readiness, and
// not that of its containers, of which only the kubelet can tell.
func (p pod) lost() string {
	ready, containers := p.condition("Ready"), p.condition("ContainersReady")
	switch {
	case p.disruption() != "":
		return p.disruption()
	case p.Status.Reason == "NodeLost" || p.Status.Phase == "Unknown" || ready.Status == "Unknown":
		return "its node is lost"
	case ready.Status == "False" && containers.Status == "True" && ready.Reason != "ReadinessGatesNotReady":
		return "its node does not answer"
	}
	return ""
}

// disruption says who evicts the pod: the taint manager, the eviction API, a preemption, the kubelet, or the garbage
// collector. It is set just before the deletion, and may stay when that does not come.
func (p pod) disruption() string {
	if c := p.condition("DisruptionTarget"); c.Status == "True" {
		return c.text()
	}
	return ""
}

func (p pod) condition(kind string) condition {
	return find(p.Status.Conditions, kind)
}

// find returns the zero condition if there is none.
func find(conditions []condition, kind string) condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

func isTrue(conditions []condition, kind string) bool { return find(conditions, kind).Status == "True" }

// text is what a condition says to people.
func (c condition) text() string {
	return strings.Trim(c.Reason+": "+c.Message, ": ")
}
