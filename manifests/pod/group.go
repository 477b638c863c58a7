package pod

import (
	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Group is pods of one shape: a head or a worker group.
type Group struct {
	Run     *v1alpha1.Run
	Cluster *v1alpha1.Cluster
	Name    string // v1alpha1.GroupHead or the name of the worker group
	Spec    *v1alpha1.Group
}

// Head is the head of a cluster.
func Head(run *v1alpha1.Run, cluster *v1alpha1.Cluster) Group {
	return Group{Run: run, Cluster: cluster, Name: v1alpha1.GroupHead, Spec: &cluster.Head}
}

// Worker is one worker group of a cluster.
func Worker(run *v1alpha1.Run, cluster *v1alpha1.Cluster, worker *v1alpha1.WorkerGroup) Group {
	return Group{Run: run, Cluster: cluster, Name: worker.Name, Spec: &worker.Group}
}

func (g Group) isHead() bool { return g.Name == v1alpha1.GroupHead }

func (g Group) isRayCluster() bool { return g.Run.Spec.Backend == v1alpha1.BackendRayCluster }

// hasRegistry tells whether the pod gets the registry sidecar: heads read and write endpoints, workers only where they publish.
func (g Group) hasRegistry() bool { return g.isHead() || len(g.Cluster.PublishedBy(g.Name)) > 0 }

// hasPeerwatch tells whether the pod watches the other clusters; a JobSet cascades by itself.
func (g Group) hasPeerwatch() bool { return g.isHead() && g.isRayCluster() }

// publishesFiles tells whether the app hands URLs to the sidecar by file.
func (g Group) publishesFiles() bool {
	for _, p := range g.Cluster.PublishedBy(g.Name) {
		if p.File != "" {
			return true
		}
	}
	return false
}

// serviceAccount of the pod; "" is the namespace's default, whose token is not mounted either.
func (g Group) serviceAccount() string {
	switch {
	case g.hasPeerwatch():
		return v1alpha1.PeerwatchAccountName(g.Run.Metadata.Name)
	case g.hasRegistry():
		return v1alpha1.RegistryAccountName(g.Run.Metadata.Name)
	default:
		return ""
	}
}
