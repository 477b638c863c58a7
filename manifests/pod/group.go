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
	// Worker is the worker group; nil for a head.
	Worker *v1alpha1.WorkerGroup
	// Segment is the part of the worker group that this is; all of it unless the group is split.
	Segment v1alpha1.Segment

	settings v1alpha1.PodSettings    // those of run, cluster and group
	overlays []*v1alpha1.PodTemplate // the same, from far to near
}

// Head is the head of a cluster.
func Head(run *v1alpha1.Run, cluster *v1alpha1.Cluster) Group {
	head := v1alpha1.Segment{Name: v1alpha1.GroupHead, Pods: 1}
	return newGroup(run, cluster, v1alpha1.GroupHead, &cluster.Head, head)
}

func newGroup(run *v1alpha1.Run, cluster *v1alpha1.Cluster, name string, spec *v1alpha1.Group, segment v1alpha1.Segment) Group {
	settings, overlays := run.Settings(cluster, spec)
	return Group{
		Run: run, Cluster: cluster, Name: name, Spec: spec, Segment: segment,
		settings: settings, overlays: overlays,
	}
}

// Worker is one segment of a worker group of a cluster.
func Worker(run *v1alpha1.Run, cluster *v1alpha1.Cluster, worker *v1alpha1.WorkerGroup, segment v1alpha1.Segment) Group {
	group := newGroup(run, cluster, worker.Name, &worker.Group, segment)
	group.Worker = worker
	return group
}

// Workers are the worker groups of a cluster, split into their segments, in the order of the file.
func Workers(run *v1alpha1.Run, cluster *v1alpha1.Cluster) []Group {
	var out []Group
	for i := range cluster.Workers {
		worker := &cluster.Workers[i]
		for _, segment := range worker.Segments() {
			out = append(out, Worker(run, cluster, worker, segment))
		}
	}
	return out
}

func (g Group) isHead() bool { return g.Name == v1alpha1.GroupHead }

// onKubeRay tells whether KubeRay makes the pods, and adds to them what it thinks is missing.
func (g Group) onKubeRay() bool { return g.Run.Spec.Backend.OnKubeRay() }

// hasRegistry tells whether the pod gets the registry sidecar: heads read and write endpoints, workers only where they publish.
func (g Group) hasRegistry() bool { return g.isHead() || len(g.Cluster.PublishedBy(g.Name)) > 0 }

// hasPeerwatch tells whether the pod watches the other clusters; a JobSet cascades by itself.
func (g Group) hasPeerwatch() bool { return g.isHead() && g.onKubeRay() }

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
