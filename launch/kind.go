package launch

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// kind is a kind of object that a run consists of.
type kind struct {
	name     string
	resource schema.GroupVersionResource
}

var (
	jobSets         = kind{"JobSet", schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}}
	rayClusters     = kind{"RayCluster", schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}}
	jobs            = kind{"Job", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}}
	pods            = kind{"Pod", schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
	services        = kind{"Service", schema.GroupVersionResource{Version: "v1", Resource: "services"}}
	configMaps      = kind{"ConfigMap", schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}}
	serviceAccounts = kind{"ServiceAccount", schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}}
	roles           = kind{"Role", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}}
	roleBindings    = kind{"RoleBinding", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}}
)

// workloads are the kinds whose end is the run's, by backend.
func workloads(backend v1alpha1.Backend) []kind {
	if backend == v1alpha1.BackendRayCluster {
		return []kind{rayClusters, jobs}
	}
	return []kind{jobSets}
}
