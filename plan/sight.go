package plan

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tandem-rl/tandem/manifests/kai"
)

// Sight is what was seen of a cluster. A question that was not answered has its error.
type Sight struct {
	// Server is the address that was asked, Version what it runs.
	Server, Version string

	Namespace Seen[*corev1.Namespace]
	Nodes     Seen[[]corev1.Node]
	// Pods are those that hold something, of all namespaces.
	Pods   Seen[[]corev1.Pod]
	Quotas Seen[[]corev1.ResourceQuota]

	// Served tells of each kind that the run needs whether the server has it.
	Served map[schema.GroupVersionKind]Seen[bool]
	// Refs holds what was found of each reference.
	Refs map[string]Seen[*unstructured.Unstructured]
	// BindingModes are the volumeBindingModes of storage classes by name.
	BindingModes map[string]string

	// Access is what `tandem up` needs, Rules what the user may hand on to the run's accounts.
	Access []Access
	Rules  Seen[authorizationv1.SubjectRulesReviewStatus]

	// PodGroupFields are the fields of a PodGroup's spec.
	PodGroupFields Seen[map[string]bool]
	// Queues are all queues of KAI, as they are; the local queue is Kueue's.
	Queues     Seen[[]QueueSeen]
	Topology   Seen[*kai.Topology]
	LocalQueue Seen[*unstructured.Unstructured]
}

// Seen is an answer, or why there is none.
type Seen[T any] struct {
	Value T
	Err   error
}

// Access is one right of the user.
type Access struct {
	Resource, Verb string
	Allowed        Seen[bool]
}

// QueueSeen is a queue of KAI with what its pods hold.
type QueueSeen struct {
	kai.Queue `json:",inline"`
	Status    struct {
		Allocated               corev1.ResourceList `json:"allocated,omitempty"`
		AllocatedNonPreemptible corev1.ResourceList `json:"allocatedNonPreemptible,omitempty"`
	} `json:"status,omitempty"`
}
