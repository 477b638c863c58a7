package peerwatch

import "strings"

// The parts of the watched objects that a decision needs, as JSON.

type objectMeta struct {
	Name              string            `json:"name"`
	UID               string            `json:"uid"`
	Labels            map[string]string `json:"labels"`
	ResourceVersion   string            `json:"resourceVersion"`
	Annotations       map[string]string `json:"annotations"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	OwnerReferences   []ownerReference  `json:"ownerReferences"`
}

// KubeRay's labels on the pods of a RayCluster.
const (
	labelCluster  = "ray.io/cluster"
	labelNodeType = "ray.io/node-type" // head or worker
)

type ownerReference struct {
	Kind string `json:"kind"`
	UID  string `json:"uid"`
}

func (m objectMeta) deleting() bool { return m.DeletionTimestamp != "" }

// owner is the UID of the RayCluster that the object belongs to.
func (m objectMeta) owner() string {
	for _, ref := range m.OwnerReferences {
		if ref.Kind == "RayCluster" {
			return ref.UID
		}
	}
	return ""
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	LastTransitionTime string `json:"lastTransitionTime"`
}

// text is what a condition says to people.
func (c condition) text() string {
	return strings.Trim(c.Reason+": "+c.Message, ": ")
}

type rayCluster struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Suspend bool `json:"suspend"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

// headReady is HeadPodReady. status.state is not looked at: KubeRay leaves it "ready" when the head has died.
func (c rayCluster) headReady() condition {
	cond, found := c.condition("HeadPodReady")
	if !found {
		return condition{Message: "no condition HeadPodReady"}
	}
	return cond
}

// suspended lasts from the wish, which precedes the deletion of the first pod, until KubeRay says that it is over.
func (c rayCluster) suspended() bool {
	suspending, _ := c.condition("RayClusterSuspending")
	suspended, _ := c.condition("RayClusterSuspended")
	return c.Spec.Suspend || suspending.Status == "True" || suspended.Status == "True"
}

// wasReady: all pods of the cluster were ready once; KubeRay never takes this condition back.
func (c rayCluster) wasReady() bool {
	cond, _ := c.condition("RayClusterProvisioned")
	return cond.Status == "True"
}

func (c rayCluster) condition(kind string) (_ condition, found bool) {
	for _, cond := range c.Status.Conditions {
		if cond.Type == kind {
			return cond, true
		}
	}
	return condition{}, false
}

type job struct {
	Metadata objectMeta `json:"metadata"`
	Status   struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

func (j job) ended() (JobCondition, string) {
	for _, cond := range j.Status.Conditions {
		if kind := JobCondition(cond.Type); cond.Status == "True" && (kind == Complete || kind == Failed) {
			return kind, cond.text()
		}
	}
	return "", ""
}

type configMap struct {
	Metadata objectMeta        `json:"metadata"`
	Data     map[string]string `json:"data"`
}

// annotationRemoving is what `tandem down` puts on the run's ConfigMap before it removes anything; see package v1alpha1.
const annotationRemoving = "tandem.dev/removing"

// labelRun is on every object of a run; see package v1alpha1.
const labelRun = "tandem.dev/run"

type pod struct {
	Metadata objectMeta `json:"metadata"`
	Status   struct {
		Phase             string            `json:"phase"`
		Reason            string            `json:"reason"`
		Message           string            `json:"message"`
		ContainerStatuses []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type containerStatus struct {
	Name         string `json:"name"`
	RestartCount int    `json:"restartCount"`
	State        state  `json:"state"`
	LastState    state  `json:"lastState"`
}

type state struct {
	Terminated *terminated `json:"terminated"`
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

func (p pod) isHead() bool { return p.Metadata.Labels[labelNodeType] == "head" }

func (p pod) level() Pod {
	containers := make([]Container, 0, len(p.Status.ContainerStatuses))
	for _, s := range p.Status.ContainerStatuses {
		containers = append(containers, Container{Name: s.Name, Restarts: s.RestartCount, Exit: s.exit(), Again: s.again()})
	}
	return Pod{
		Name: p.Metadata.Name, UID: p.Metadata.UID, Owner: p.Metadata.owner(), Deleting: p.Metadata.deleting(),
		Failed: p.Status.Phase == "Failed", Message: strings.Trim(p.Status.Reason+": "+p.Status.Message, ": "),
		Containers: containers,
	}
}
