package plan

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// kinds are those that the server must have: those of the objects, and those that the scheduler works with.
func (p *Plan) kinds() []schema.GroupVersionKind {
	set := map[schema.GroupVersionKind]bool{}
	for _, object := range p.objects {
		set[object.GroupVersionKind()] = true
	}
	if p.Scheduler == v1alpha1.SchedulerKAI {
		set[podGroupKind] = true
		set[queueResource.GroupVersion().WithKind("Queue")] = true
		if p.run.Spec.Scheduling.Topology != nil {
			set[topologyResource.GroupVersion().WithKind("Topology")] = true
		}
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
}

// bringers is who brings a kind of that API group, by the field that asks for it.
var bringers = map[string]string{
	"jobset.x-k8s.io":     "install the JobSet controller, or choose another spec.backend",
	"ray.io":              "install the KubeRay operator, or choose another spec.backend",
	"scheduling.run.ai":   "install the KAI scheduler, or choose another spec.scheduling.scheduler",
	"kai.scheduler":       "install the KAI scheduler, or leave spec.scheduling.topology out",
	"resource.nvidia.com": "install NVIDIA's DRA driver, or leave the computeDomain claims out",
	"resource.k8s.io":     "set apiVersion of the claim to what the cluster serves (kubectl api-versions)",
	"scheduling.k8s.io":   "start the API server with the feature gate GenericWorkload and scheduling.k8s.io/v1alpha1, or choose another spec.scheduling.scheduler",
}

// resourceOf is the name of a kind in RBAC; only of kinds that tandem makes, whose plurals are regular but for these.
func resourceOf(kind schema.GroupVersionKind) string {
	plural := strings.ToLower(kind.Kind) + "s"
	if kind.Kind == "NetworkPolicy" {
		plural = "networkpolicies"
	}
	return schema.GroupResource{Group: kind.Group, Resource: plural}.String()
}

// rights are what `tandem up` needs: it looks at what is there, tries every object and applies it.
func (p *Plan) rights() []Access {
	var out []Access
	seen := map[string]bool{}
	for _, object := range p.objects {
		resource := resourceOf(object.GroupVersionKind())
		if seen[resource] {
			continue
		}
		seen[resource] = true
		for _, verb := range []string{"get", "list", "create", "patch"} {
			out = append(out, Access{Resource: resource, Verb: verb})
		}
	}
	return append(out, Access{Resource: "pods", Verb: "list"})
}
