package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The longest names that the controllers accept.
const (
	maxRayCluster = 53 // KubeRay refuses more: the services it makes add up to ten characters
	maxPod        = 63 // a JobSet pod's name is also its host name
	maxLabelValue = 63
)

// validateNames checks the names of the file, and those that will be made of them.
func (r *Run) validateNames() field.ErrorList {
	errs := r.validateMetadata()
	clusters := field.NewPath("spec", "clusters")
	seen := map[string]bool{}
	for i, cluster := range r.Spec.Clusters {
		errs = append(errs, uniqueName(clusters.Index(i).Child("name"), cluster.Name, "the name of a cluster", seen)...)
		errs = append(errs, cluster.validateGroupNames(clusters.Index(i).Child("workers"))...)
	}
	if r.Spec.Backend == BackendRayCluster {
		return append(errs, r.validateRayClusterNames(clusters)...)
	}
	return append(errs, r.validateJobSetNames(clusters)...)
}

func (r *Run) validateMetadata() field.ErrorList {
	path := field.NewPath("metadata")
	errs := dns1035(path.Child("name"), r.Metadata.Name, "the run's name")
	if longest := len(DriverJobName(r.Metadata.Name)); longest > maxLabelValue {
		errs = append(errs, tooLong(path.Child("name"), DriverJobName(r.Metadata.Name), "the driver's Job", maxLabelValue))
	}
	if r.Metadata.Namespace != "" {
		errs = append(errs, dns1123(path.Child("namespace"), r.Metadata.Namespace)...)
	}
	return errs
}

func (c *Cluster) validateGroupNames(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, worker := range c.Workers {
		name := path.Index(i).Child("name")
		if worker.Name == GroupHead || worker.Name == GroupDriver {
			errs = append(errs, field.Invalid(name, worker.Name, "taken by tandem: choose another name for the group"))
			continue
		}
		errs = append(errs, uniqueName(name, worker.Name, "the name of a worker group", seen)...)
	}
	return errs
}

func (r *Run) validateRayClusterNames(clusters *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, cluster := range r.Spec.Clusters {
		if name := RayClusterName(r.Metadata.Name, cluster.Name); len(name) > maxRayCluster {
			errs = append(errs, tooLong(clusters.Index(i).Child("name"), name, "the RayCluster", maxRayCluster))
		}
	}
	return errs
}

// validateJobSetNames checks the pods' names and the coordinator label, as JobSet's webhook would.
func (r *Run) validateJobSetNames(clusters *field.Path) field.ErrorList {
	var errs field.ErrorList
	jobs := map[string]string{}
	for i, cluster := range r.Spec.Clusters {
		path := clusters.Index(i)
		errs = append(errs, r.validateReplicatedJob(path.Child("name"), cluster.Name, GroupHead, 1, jobs)...)
		for j, worker := range cluster.Workers {
			errs = append(errs, r.validateReplicatedJob(path.Child("workers").Index(j).Child("name"), cluster.Name, worker.Name, worker.Pods(), jobs)...)
		}
		if host := jobSetHost(r.Metadata.Name, ReplicatedJobName(cluster.Name, GroupHead)); cluster.Name == r.Spec.Driver.Cluster && len(host) > maxLabelValue {
			errs = append(errs, tooLong(path.Child("name"), host, "the label with the coordinator's host", maxLabelValue))
		}
	}
	return errs
}

// validateReplicatedJob checks the name of one; seen holds the cluster of each that is taken.
func (r *Run) validateReplicatedJob(path *field.Path, cluster, group string, pods int32, seen map[string]string) field.ErrorList {
	job := ReplicatedJobName(cluster, group)
	if other, taken := seen[job]; taken {
		if other == cluster {
			return nil // a duplicate group, which is reported as such
		}
		return field.ErrorList{field.Invalid(path, group, fmt.Sprintf("cluster and group make the replicatedJob %q, which another pair makes too: rename one", job))}
	}
	seen[job] = cluster
	pod := fmt.Sprintf("%s-%s-0-%d-xxxxx", JobSetName(r.Metadata.Name), job, max(pods-1, 0))
	if len(pod) > maxPod {
		return field.ErrorList{tooLong(path, pod, "the pod", maxPod)}
	}
	return nil
}

func tooLong(path *field.Path, name, what string, limit int) *field.Error {
	return field.Invalid(path, name, fmt.Sprintf("%s would have a name of %d characters, %d more than allowed: shorten the names it is made of", what, len(name), len(name)-limit))
}

// uniqueName checks a name that becomes part of DNS names.
func uniqueName(path *field.Path, name, what string, seen map[string]bool) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, what)}
	}
	if seen[name] {
		return field.ErrorList{field.Duplicate(path, name)}
	}
	seen[name] = true
	return dns1123(path, name)
}

func dns1035(path *field.Path, name, what string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, what)}
	}
	return invalid(path, name, validation.IsDNS1035Label(name))
}

func dns1123(path *field.Path, name string) field.ErrorList {
	return invalid(path, name, validation.IsDNS1123Label(name))
}

func subdomain(path *field.Path, name string) field.ErrorList {
	return invalid(path, name, validation.IsDNS1123Subdomain(name))
}

func labelValue(path *field.Path, value string) field.ErrorList {
	return invalid(path, value, validation.IsValidLabelValue(value))
}

func invalid(path *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
