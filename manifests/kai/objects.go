package kai

import (
	"encoding/json"
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Objects are those of a run that KAI groups, and KAI's own beside them.
type Objects struct {
	owners     []*owner
	podGroups  []*PodGroup
	queues     []*Queue
	topologies []*Topology
}

// Read takes unstructured objects, apply configurations, typed objects and what the builders return. Kinds that KAI does not group
// are skipped: ConfigMaps, Roles and the like.
func Read(objects ...any) (*Objects, error) {
	out := &Objects{}
	for i, object := range objects {
		if err := out.add(object); err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
	}
	return out, nil
}

func (o *Objects) add(object any) error {
	if u, ok := object.(*unstructured.Unstructured); ok {
		object = u.Object
	}
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", object, err)
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &meta); err != nil {
		return fmt.Errorf("reading the kind of %T: %w", object, err)
	}
	kind := typeOf(object, meta.TypeMeta)
	if err := o.decode(kind, data); err != nil {
		return fmt.Errorf("decoding %s %s/%s: %w", kind, meta.Namespace, meta.Name, err)
	}
	return nil
}

// typeOf is "group/Kind". Typed objects often leave their own kind out.
func typeOf(object any, meta metav1.TypeMeta) string {
	switch object.(type) {
	case *v1alpha2.JobSet:
		return "jobset.x-k8s.io/JobSet"
	case *rayv1.RayCluster:
		return "ray.io/RayCluster"
	case *rayv1.RayJob:
		return "ray.io/RayJob"
	case *batchv1.Job:
		return "batch/Job"
	case *corev1.Pod:
		return "/Pod"
	}
	group, _, found := strings.Cut(meta.APIVersion, "/")
	if !found {
		group = ""
	}
	return group + "/" + meta.Kind
}

func (o *Objects) decode(kind string, data []byte) error {
	switch kind {
	case "jobset.x-k8s.io/JobSet":
		return o.addJobSet(data)
	case "ray.io/RayCluster":
		return decodeOwner(o, data, rayClusterOwner)
	case "ray.io/RayJob":
		return decodeOwner(o, data, rayJobOwner)
	case "batch/Job":
		return decodeOwner(o, data, jobOwner)
	case "/Pod":
		return decodeOwner(o, data, podOwner)
	case GroupScheduling + "/" + kindPodGroup:
		return decodeTo(&o.podGroups, data)
	case GroupScheduling + "/" + kindQueue:
		return decodeTo(&o.queues, data)
	case GroupKAI + "/" + kindTopology:
		return decodeTo(&o.topologies, data)
	}
	return nil
}

func decodeTo[T any](list *[]*T, data []byte) error {
	object := new(T)
	if err := json.Unmarshal(data, object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

func decodeOwner[T any](o *Objects, data []byte, owner func(*T) *owner) error {
	object := new(T)
	if err := json.Unmarshal(data, object); err != nil {
		return err
	}
	o.owners = append(o.owners, owner(object))
	return nil
}

// addJobSet reads replicas a second time: the typed field cannot tell 0 from absent, which is 1.
func (o *Objects) addJobSet(data []byte) error {
	var raw struct {
		Spec struct {
			ReplicatedJobs []struct {
				Replicas *int32 `json:"replicas"`
			} `json:"replicatedJobs"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	return decodeOwner(o, data, func(jobSet *v1alpha2.JobSet) *owner {
		for i, job := range raw.Spec.ReplicatedJobs {
			jobSet.Spec.ReplicatedJobs[i].Replicas = or(job.Replicas, 1)
		}
		return jobSetOwner(jobSet)
	})
}

func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
