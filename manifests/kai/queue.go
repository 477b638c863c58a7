package kai

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Queue shares the cluster out. It belongs to the cluster, not to a namespace. Only a leaf takes pods.
type Queue struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   Metadata  `json:"metadata"`
	Spec       QueueSpec `json:"spec"`
}

// QueueSpec is a queue's place and share.
type QueueSpec struct {
	DisplayName       string         `json:"displayName,omitempty"`
	ParentQueue       string         `json:"parentQueue,omitempty"`
	Priority          *int           `json:"priority,omitempty"`
	PreemptMinRuntime string         `json:"preemptMinRuntime,omitempty"`
	ReclaimMinRuntime string         `json:"reclaimMinRuntime,omitempty"`
	Resources         QueueResources `json:"resources"`
}

// QueueResources has all three: KAI takes a resource that is not named for one with limit 0, and nothing that asks for it ever runs.
type QueueResources struct {
	CPU    QueueResource `json:"cpu"`    // millicores
	Memory QueueResource `json:"memory"` // megabytes of 10^6 bytes
	GPU    QueueResource `json:"gpu"`    // devices
}

// QueueResource never leaves quota or limit out, because 0 and absent mean the same to KAI and nothing good in a limit.
type QueueResource struct {
	Quota           float64  `json:"quota"`
	Limit           float64  `json:"limit"`
	OverQuotaWeight *float64 `json:"overQuotaWeight,omitempty"`
}

// Unlimited is a quota or limit without bound.
const Unlimited = -1

// resourceGPU is the resource of whole GPUs.
const resourceGPU corev1.ResourceName = "nvidia.com/gpu"

// QueueTree is a leaf queue and its parent. Before 0.13 a leaf without a parent takes no pods, so there are always two.
type QueueTree struct {
	Parent, Leaf string
	DisplayName  string // of the leaf, in metrics and logs; default its name
	Priority     *int   // of the leaf; KAI's default is 100
	// Quota is what the queue may claim from others: cpu, memory and nvidia.com/gpu. What is not named has none, -1 is without bound.
	// Only pods within the quota of the queue and its ancestors can be non-preemptible.
	Quota corev1.ResourceList
	// Limit is what it may use at most. What is not named has no limit.
	Limit corev1.ResourceList
	// OverQuotaWeight shares out what nobody claims; nil is KAI's default of 1.
	OverQuotaWeight *float64
	// MinRuntime keeps running gangs from being preempted or reclaimed for so long; 0 is the scheduler's default.
	PreemptMinRuntime, ReclaimMinRuntime time.Duration
}

// NewQueues builds the parent and the leaf, in this order. The parent has the same quota and no limit.
func NewQueues(tree QueueTree) ([]*Queue, error) {
	if err := errors.Join(tree.problems()...); err != nil {
		return nil, fmt.Errorf("queue %q: %w", tree.Leaf, err)
	}
	return []*Queue{
		newQueue(tree.Parent, QueueSpec{Resources: resources(tree.Quota, nil, nil)}),
		newQueue(tree.Leaf, QueueSpec{
			DisplayName:       tree.DisplayName,
			ParentQueue:       tree.Parent,
			Priority:          tree.Priority,
			PreemptMinRuntime: duration(tree.PreemptMinRuntime),
			ReclaimMinRuntime: duration(tree.ReclaimMinRuntime),
			Resources:         resources(tree.Quota, tree.Limit, tree.OverQuotaWeight),
		}),
	}, nil
}

func newQueue(name string, spec QueueSpec) *Queue {
	return &Queue{APIVersion: queueVersion, Kind: kindQueue, Metadata: Metadata{Name: name}, Spec: spec}
}

func (t QueueTree) problems() []error {
	errs := []error{
		checkName("parent", t.Parent, validation.IsDNS1123Subdomain),
		checkName("leaf", t.Leaf, validation.IsDNS1123Subdomain),
		// The queue's name is a label value of its pods.
		checkName("leaf", t.Leaf, validation.IsValidLabelValue),
	}
	if t.Parent == t.Leaf {
		errs = append(errs, fmt.Errorf("parent %q: a queue cannot be its own parent; only a leaf takes pods", t.Parent))
	}
	for _, list := range []struct {
		name      string
		resources corev1.ResourceList
	}{{"quota", t.Quota}, {"limit", t.Limit}} {
		errs = append(errs, checkResources(list.name, list.resources)...)
	}
	for _, name := range shared {
		quota := t.Quota[name]
		limit, limited := t.Limit[name]
		if limited && (quota.Cmp(limit) > 0 || isUnlimited(quota)) {
			errs = append(errs, fmt.Errorf("quota.%s %s: exceeds the limit of %s; lower it or raise the limit", name, quota.String(), limit.String()))
		}
	}
	return errs
}

// shared are the resources that queues share out, in the order of the fields.
var shared = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, resourceGPU}

func checkResources(list string, resources corev1.ResourceList) []error {
	var errs []error
	for _, name := range sortedKeys(resources) {
		quantity := resources[name]
		switch {
		case !slices.Contains(shared, name):
			errs = append(errs, fmt.Errorf("%s.%s: queues share out %v only; leave it out", list, name, shared))
		case list == "quota" && isUnlimited(quantity):
		case quantity.Sign() < 0:
			errs = append(errs, fmt.Errorf("%s.%s %s: must not be negative; write a quota of -1 for one without bound, and leave out a limit for none",
				list, name, quantity.String()))
		case list == "limit" && quantity.IsZero():
			errs = append(errs, fmt.Errorf("%s.%s 0: no pod that asks for it would ever run; leave it out for no limit", list, name))
		}
	}
	return errs
}

func resources(quota, limit corev1.ResourceList, weight *float64) QueueResources {
	one := func(name corev1.ResourceName) QueueResource {
		out := QueueResource{Limit: Unlimited, OverQuotaWeight: weight}
		if quantity, ok := quota[name]; ok && isUnlimited(quantity) {
			out.Quota = Unlimited
		} else if ok {
			out.Quota = amount(name, quantity)
		}
		if quantity, ok := limit[name]; ok {
			out.Limit = amount(name, quantity)
		}
		return out
	}
	return QueueResources{CPU: one(corev1.ResourceCPU), Memory: one(corev1.ResourceMemory), GPU: one(resourceGPU)}
}

func isUnlimited(quantity resource.Quantity) bool { return quantity.CmpInt64(Unlimited) == 0 }

// amount is a quantity in the units of a queue, rounded up so that a gang of exactly this size fits.
func amount(name corev1.ResourceName, quantity resource.Quantity) float64 {
	switch name {
	case corev1.ResourceCPU:
		return float64(quantity.MilliValue())
	case corev1.ResourceMemory:
		return math.Ceil(float64(quantity.Value()) / 1e6)
	default:
		return quantity.AsApproximateFloat64()
	}
}

func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
