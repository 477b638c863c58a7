package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The longest names that the controllers accept.
const (
	maxRayCluster = 53 // KubeRay refuses more: the services it makes add up to ten characters
	maxRayJob     = 47 // the RayCluster that KubeRay makes of it has six characters more
	maxPod        = 63 // a JobSet pod's name is also its host name
	maxLabelValue = 63
)

// leastRunName is how many characters a run's name should be able to have; where less is left, the other names are too long.
const leastRunName = 8

// made is a name that is made of those of the file.
type made struct {
	name, what string
	limit      int
	runs       int         // how often the run's name is in it
	path       *field.Path // of the last other name in it; nil if there is none
	part       string      // that name
}

func (m made) excess() int { return len(m.name) - m.limit }

// runBudget is how long the run's name may be for this name's sake.
func (m made) runBudget(run string) int {
	return (m.limit - (len(m.name) - m.runs*len(run))) / m.runs
}

// validateLengths checks the names that will be made of those of the file. Where a shorter run's name helps, that is the one problem.
func (r *Run) validateLengths() field.ErrorList {
	run, tightest := r.Metadata.Name, made{}
	var long []made
	for _, m := range r.made() {
		if m.excess() <= 0 {
			continue
		}
		long = append(long, m)
		if m.runs > 0 && (tightest.runs == 0 || m.runBudget(run) < tightest.runBudget(run)) {
			tightest = m
		}
	}
	if len(long) == 0 {
		return nil
	}
	if tightest.runs > 0 && tightest.runBudget(run) >= leastRunName {
		return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), run, fmt.Sprintf(
			"has %d characters, and with the other names of this file at most %d fit: %s %s may have at most %d",
			len(run), tightest.runBudget(run), tightest.what, tightest.name, tightest.limit))}
	}
	return partsTooLong(long)
}

// partsTooLong reports each cluster or group once, with its tightest budget.
func partsTooLong(long []made) field.ErrorList {
	worst := map[string]made{}
	var paths []string
	for _, m := range long {
		if m.path == nil {
			continue // the names that it is a part of too are longer still
		}
		path := m.path.String()
		if _, seen := worst[path]; !seen {
			paths = append(paths, path)
		}
		if m.excess() > worst[path].excess() || worst[path].path == nil {
			worst[path] = m
		}
	}
	var errs field.ErrorList
	for _, path := range paths {
		m := worst[path]
		errs = append(errs, field.Invalid(m.path, m.part, fmt.Sprintf("has %d characters, and with the other names of this file at most %d fit: %s %s may have at most %d",
			len(m.part), max(len(m.part)-m.excess(), 0), m.what, m.name, m.limit)))
	}
	return errs
}

// made lists the names that the backend makes and that have a limit.
func (r *Run) made() []made {
	run := r.Metadata.Name
	var list []made
	switch r.Spec.Backend {
	case BackendRayJob:
		list = append(list, made{RayJobName(run), "the RayJob", maxRayJob, 1, nil, ""})
	default:
		list = append(list, made{DriverJobName(run), "the driver's Job", maxLabelValue, 1, nil, ""})
	}
	for i := range r.Spec.Clusters {
		cluster, at := &r.Spec.Clusters[i], field.NewPath("spec", "clusters").Index(i)
		switch {
		case !r.Spec.Backend.OnKubeRay():
			list = append(list, r.madeByJobSet(at, cluster)...)
		case !r.InRayJob(cluster):
			list = append(list, made{RayClusterName(run, cluster.Name), "the RayCluster", maxRayCluster, 1, at.Child("name"), cluster.Name})
		}
		for j := range cluster.Workers {
			list = append(list, r.madeOfGroup(at.Child("workers").Index(j).Child("name"), cluster, &cluster.Workers[j])...)
		}
	}
	return list
}

// madeOfGroup are the longest names of a worker group: those of its last segment.
func (r *Run) madeOfGroup(path *field.Path, cluster *Cluster, worker *WorkerGroup) []made {
	segments := worker.Segments()
	last := segments[len(segments)-1]
	list := []made{{last.Name, "the label", maxLabelValue, 0, path, worker.Name}}
	if !r.Spec.Backend.OnKubeRay() {
		list = append(list, made{jobSetPod(r.Metadata.Name, cluster.Name, last.Name, last.Pods), "the pod", maxPod, 1, path, worker.Name})
	}
	return list
}

// madeByJobSet are the names of a cluster's head: its pod, and the label with the coordinator's host.
func (r *Run) madeByJobSet(at *field.Path, cluster *Cluster) []made {
	run := r.Metadata.Name
	list := []made{{jobSetPod(run, cluster.Name, GroupHead, 1), "the pod", maxPod, 1, at.Child("name"), cluster.Name}}
	if cluster.Name == r.Spec.Driver.Cluster {
		host := jobSetHost(run, ReplicatedJobName(cluster.Name, GroupHead))
		list = append(list, made{host, "the label with the coordinator's host", maxLabelValue, 2, at.Child("name"), cluster.Name})
	}
	return list
}

func jobSetPod(run, cluster, group string, pods int32) string {
	return fmt.Sprintf("%s-%s-0-%d-xxxxx", JobSetName(run), ReplicatedJobName(cluster, group), max(pods-1, 0))
}
