package reap

import (
	"cmp"
	"slices"
	"time"
)

// The parts of the objects that a decision needs, as JSON.

type objectMeta struct {
	Name              string            `json:"name"`
	UID               string            `json:"uid"`
	Labels            map[string]string `json:"labels"`
	ResourceVersion   string            `json:"resourceVersion"`
	Annotations       map[string]string `json:"annotations"`
	CreationTimestamp time.Time         `json:"creationTimestamp"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	OwnerReferences   []ownerReference  `json:"ownerReferences"`
}

type ownerReference struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

// What groups pods into gangs.
const (
	annotationPodGroup = "pod-group-name"
	labelRun           = "tandem.dev/run" // see package v1alpha1
)

type configMap struct {
	Metadata objectMeta        `json:"metadata"`
	Data     map[string]string `json:"data"`
}

type pod struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		NodeName    string       `json:"nodeName"`
		Tolerations []toleration `json:"tolerations"`
	} `json:"spec"`
	Status struct {
		Phase                 string            `json:"phase"`
		Conditions            []condition       `json:"conditions"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type toleration struct{ Key, Operator, Value, Effect string }

// meets tells whether the taint of an excluded node is tolerated.
func (t toleration) meets() bool {
	key := t.Key == TaintKey || (t.Key == "" && t.Operator == "Exists")
	value := t.Operator == "Exists" || t.Value == TaintValue
	effect := t.Effect == "" || t.Effect == TaintEffect
	return key && value && effect
}

type condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

type containerStatus struct {
	RestartCount int   `json:"restartCount"`
	State        state `json:"state"`
	LastState    state `json:"lastState"`
}

type state struct {
	Waiting    *struct{ Reason string } `json:"waiting"`
	Running    *struct{}                `json:"running"`
	Terminated *struct{}                `json:"terminated"`
}

// started: it runs, or has run.
func (s containerStatus) started() bool {
	return s.RestartCount > 0 || s.State.Running != nil || s.State.Terminated != nil || s.LastState.Terminated != nil
}

// prepares: the kubelet has not come to it yet. While it pulls an image it says ContainerCreating as well.
func (s containerStatus) prepares() bool {
	return s.State.Waiting != nil && slices.Contains([]string{"ContainerCreating", "PodInitializing"}, s.State.Waiting.Reason)
}

func (p pod) condition(kind string) condition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// preparing looks at all containers, since those of a pod whose init container runs wait for PodInitializing too.
func (p pod) preparing() bool {
	statuses := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	sandbox := p.condition("PodReadyToStartContainers").Status
	switch {
	case p.Spec.NodeName == "" || p.Status.Phase != "Pending" || p.condition("PodScheduled").Status != "True":
		return false
	case sandbox == "True" || slices.ContainsFunc(statuses, containerStatus.started):
		return false
	case slices.ContainsFunc(statuses, func(s containerStatus) bool { return !s.prepares() }):
		return false
	}
	return sandbox == "False" || len(statuses) > 0
}

func (p pod) owner() ownerReference {
	for _, ref := range p.Metadata.OwnerReferences {
		if ref.Controller {
			return ref
		}
	}
	return ownerReference{}
}

func (p pod) gang() string {
	owner := p.owner()
	switch {
	case p.Metadata.Annotations[annotationPodGroup] != "":
		return "PodGroup " + p.Metadata.Annotations[annotationPodGroup]
	case p.Metadata.Labels[labelRun] != "":
		return "run " + p.Metadata.Labels[labelRun]
	case owner.Name != "":
		return owner.Kind + " " + owner.Name
	}
	return "Pod " + p.Metadata.Name
}

func (p pod) level() Pod {
	return Pod{
		Name: p.Metadata.Name, UID: p.Metadata.UID, Node: p.Spec.NodeName,
		Scheduled: p.condition("PodScheduled").LastTransitionTime,
		Preparing: p.preparing(), Deleting: p.Metadata.DeletionTimestamp != "",
		Gang:      p.gang(),
		Returns:   !slices.Contains([]string{"", "Node", "DaemonSet"}, p.owner().Kind),
		Tolerates: slices.ContainsFunc(p.Spec.Tolerations, toleration.meets),
	}
}

// event is an Event of events.k8s.io/v1. The kubelet still writes the older kind, whose fields are the deprecated ones.
type event struct {
	Metadata  objectMeta `json:"metadata"`
	Regarding struct {
		UID string `json:"uid"`
	} `json:"regarding"`
	Type                string    `json:"type"`
	Reason              string    `json:"reason"`
	Note                string    `json:"note"`
	EventTime           time.Time `json:"eventTime"`
	ReportingController string    `json:"reportingController"`
	Series              struct {
		LastObservedTime time.Time `json:"lastObservedTime"`
	} `json:"series"`
	DeprecatedSource struct {
		Component string `json:"component"`
	} `json:"deprecatedSource"`
	DeprecatedLastTimestamp time.Time `json:"deprecatedLastTimestamp"`
}

func (e event) fromKubelet() bool {
	return cmp.Or(e.ReportingController, e.DeprecatedSource.Component) == "kubelet"
}

// last is when it was seen last.
func (e event) last() time.Time {
	latest := later(e.EventTime, later(e.Series.LastObservedTime, e.DeprecatedLastTimestamp))
	if latest.IsZero() {
		return e.Metadata.CreationTimestamp
	}
	return latest
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// progress are the reasons of Events that the kubelet writes once a sandbox is there.
var progress = []string{"Pulling", "Pulled", "Created", "Started"}

// causeOf reads a pod's Events. Only those of the kubelet, about this very incarnation, count, and only their reason: the
// text of a probe or of a pull may speak of deadlines too.
func causeOf(uid string, events []event, causes []string) Cause {
	var cause Cause
	var got, warned time.Time
	for _, e := range events {
		if e.Regarding.UID != uid || !e.fromKubelet() {
			continue
		}
		last := e.last()
		switch {
		case slices.Contains(causes, e.Reason):
			if !last.Before(cause.Last) {
				cause.Reason, cause.Note, cause.Last = e.Reason, e.Note, last
			}
		case slices.Contains(progress, e.Reason):
			got = later(got, last)
		case e.Type == "Warning" && !last.Before(warned):
			cause.Warning, warned = e.Reason+": "+e.Note, last
		}
	}
	cause.Over = got.After(cause.Last)
	return cause
}
