package peerwatch

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
	labelGroup    = "ray.io/group"
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

type rayCluster struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Suspend bool          `json:"suspend"`
		Groups  []workerGroup `json:"workerGroupSpecs"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`
}

type workerGroup struct {
	Name    string `json:"groupName"`
	Min     int    `json:"minReplicas"`
	Hosts   int    `json:"numOfHosts"`
	Suspend bool   `json:"suspend"`
}

// minimum is how many pods the group needs.
func (g workerGroup) minimum() int {
	if g.Suspend {
		return 0
	}
	return g.Min * max(g.Hosts, 1)
}

// headReady is HeadPodReady. status.state is not looked at: KubeRay leaves it "ready" when the head has died.
func (c rayCluster) headReady() condition {
	cond := find(c.Status.Conditions, "HeadPodReady")
	if cond.Type == "" {
		return condition{Message: "no condition HeadPodReady"}
	}
	return cond
}

// suspended lasts from the wish, which precedes the deletion of the first pod, until KubeRay says that it is over.
func (c rayCluster) suspended() bool {
	return c.Spec.Suspend || c.is("RayClusterSuspending") || c.is("RayClusterSuspended")
}

// wasReady: all pods of the cluster were ready once; KubeRay takes this condition back only after a suspension.
func (c rayCluster) wasReady() bool { return c.is("RayClusterProvisioned") }

// replicaFailure: KubeRay could not make or delete a pod the last time it tried.
func (c rayCluster) replicaFailure() string {
	if !c.is("ReplicaFailure") {
		return ""
	}
	return find(c.Status.Conditions, "ReplicaFailure").text()
}

func (c rayCluster) is(kind string) bool { return find(c.Status.Conditions, kind).Status == "True" }

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
