package peerwatch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

// The parts of the watched objects that a decision needs, as JSON.

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

// object is what is read of an object of any kind but pods.
type object struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Suspend bool `json:"suspend"`
		raySpec
		// of a RayJob
		RayCluster               raySpec           `json:"rayClusterSpec"`
		ClusterSelector          map[string]string `json:"clusterSelector"`
		ShutdownAfterJobFinishes bool              `json:"shutdownAfterJobFinishes"`
		// of a StatefulSet or Deployment
		Replicas *int          `json:"replicas"`
		Selector labelSelector `json:"selector"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
		// of a RayJob
		RayClusterName      string `json:"rayClusterName"`
		JobDeploymentStatus string `json:"jobDeploymentStatus"`
		JobStatus           string `json:"jobStatus"`
		Reason              string `json:"reason"`
		Message             string `json:"message"`
		RayClusterStatus    struct {
			Conditions []condition `json:"conditions"`
		} `json:"rayClusterStatus"`
		// of a StatefulSet or Deployment
		AvailableReplicas int `json:"availableReplicas"`
	} `json:"status"`
}

// raySpec is of a RayCluster.
type raySpec struct {
	Autoscales bool          `json:"enableInTreeAutoscaling"`
	Groups     []workerGroup `json:"workerGroupSpecs"`
}

type workerGroup struct {
	Name    string `json:"groupName"`
	Min     int    `json:"minReplicas"`
	Max     int    `json:"maxReplicas"`
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

func (s raySpec) groups() []Group {
	groups := make([]Group, 0, len(s.Groups))
	for _, spec := range s.Groups {
		groups = append(groups, Group{Name: spec.Name, Min: spec.minimum(), Elastic: s.Autoscales && spec.Max > spec.Min})
	}
	return groups
}

// suspended, of a RayCluster, lasts from the wish, which precedes the deletion of the first pod, until KubeRay says that
// it is over.
func (o object) suspended() bool {
	return o.Spec.Suspend || isTrue(o.Status.Conditions, "RayClusterSuspending") || isTrue(o.Status.Conditions, "RayClusterSuspended")
}

type labelSelector struct {
	Labels      map[string]string `json:"matchLabels"`
	Expressions []struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	} `json:"matchExpressions"`
}

// String is the selector as a query has it.
func (s labelSelector) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		parts = append(parts, key+"="+s.Labels[key])
	}
	for _, e := range s.Expressions {
		switch values := "(" + strings.Join(e.Values, ",") + ")"; e.Operator {
		case "In":
			parts = append(parts, e.Key+" in "+values)
		case "NotIn":
			parts = append(parts, e.Key+" notin "+values)
		case "Exists":
			parts = append(parts, e.Key)
		case "DoesNotExist":
			parts = append(parts, "!"+e.Key)
		}
	}
	return strings.Join(parts, ",")
}

type configMap struct {
	Metadata objectMeta        `json:"metadata"`
	Data     map[string]string `json:"data"`
}

// annotationErrorBy says which pod reported the error: "pod/uid", and what follows from @ or # on.
const annotationErrorBy = registry.PublisherAnnotation + registry.ErrorKey

// failure is the error, or the stale one that a pod of before a restart has reported.
func (c configMap) failure(before former) (reason, stale string) {
	reason = c.Data[registry.ErrorKey]
	_, by, _ := strings.Cut(c.Metadata.Annotations[annotationErrorBy], "/")
	if by, _, _ = strings.Cut(by, "#"); by != "" {
		by, _, _ = strings.Cut(by, "@")
	}
	if reason != "" && by != "" && before.has(by) {
		return "", reason
	}
	return reason, ""
}

// restart is the last one that was begun. A record that somebody broke counts as none.
func (c configMap) restart() Restart {
	var r Restart
	if json.Unmarshal([]byte(c.Metadata.Annotations[RestartAnnotation]), &r) != nil {
		return Restart{}
	}
	return r
}

// annotationRemoving is what `tandem down` puts on the run's ConfigMap before it removes anything; see package v1alpha1.
const annotationRemoving = "tandem.dev/removing"

// labelRun is on every object of a run; see package v1alpha1.
const labelRun = "tandem.dev/run"
