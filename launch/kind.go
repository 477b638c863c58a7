package launch

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// kind is a kind of object that a run consists of.
type kind struct {
	name     string
	resource schema.GroupVersionResource
	// further: only some runs have objects of it, and a cluster may serve it in another version or not at all.
	further bool
}

var (
	jobSets         = kind{name: "JobSet", resource: schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}}
	rayJobs         = kind{name: "RayJob", resource: schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayjobs"}}
	rayClusters     = kind{name: "RayCluster", resource: schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}}
	jobs            = kind{name: "Job", resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}}
	pods            = kind{name: "Pod", resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
	services        = kind{name: "Service", resource: schema.GroupVersionResource{Version: "v1", Resource: "services"}}
	configMaps      = kind{name: "ConfigMap", resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}
	serviceAccounts = kind{name: "ServiceAccount", resource: schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}}
	roles           = kind{name: "Role", resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}}
	roleBindings    = kind{name: "RoleBinding", resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}}

	networkPolicies        = furtherKind("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies")
	resourceClaimTemplates = furtherKind("ResourceClaimTemplate", "resource.k8s.io", "v1", "resourceclaimtemplates")
	computeDomains         = furtherKind("ComputeDomain", "resource.nvidia.com", "v1beta1", "computedomains")
	podGroups              = furtherKind("PodGroup", "scheduling.run.ai", "v2alpha2", "podgroups")
	gangs                  = furtherKind("Workload", "scheduling.k8s.io", "v1alpha1", "workloads")
)

func furtherKind(name, group, version, plural string) kind {
	return kind{name: name, resource: schema.GroupVersionResource{Group: group, Version: version, Resource: plural}, further: true}
}

// workloads are the kinds whose end is the run's, by backend.
func workloads(backend v1alpha1.Backend) []kind {
	switch backend {
	case v1alpha1.BackendRayJob:
		return []kind{rayJobs, rayClusters}
	case v1alpha1.BackendRayCluster:
		return []kind{rayClusters, jobs}
	default:
		return []kind{jobSets}
	}
}

// served leaves out the further kinds that the cluster does not have, and names the others by the version that it has. What cannot be
// learnt is left as it is.
func (l *Launcher) served(kinds []kind) []kind {
	var out []kind
	for _, k := range kinds {
		if k.further {
			mapping, err := l.apply.Client().RESTMapper().RESTMapping(schema.GroupKind{Group: k.resource.Group, Kind: k.name})
			if meta.IsNoMatchError(err) {
				continue
			}
			if err == nil {
				k.resource = mapping.Resource
			}
		}
		out = append(out, k)
	}
	return out
}
