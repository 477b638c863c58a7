package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateNames checks the names of the file, and those that will be made of them.
func (r *Run) validateNames() field.ErrorList {
	errs := r.validateMetadata()
	clusters := field.NewPath("spec", "clusters")
	seen := map[string]*field.Path{}
	for i, cluster := range r.Spec.Clusters {
		errs = append(errs, uniqueName(clusters.Index(i).Child("name"), cluster.Name, "the name of a cluster", seen)...)
		errs = append(errs, cluster.validateGroupNames(clusters.Index(i).Child("workers"))...)
	}
	if !r.Spec.Backend.OnKubeRay() {
		errs = append(errs, r.validateReplicatedJobs(clusters)...)
	}
	return append(errs, r.validateLengths()...)
}

func (r *Run) validateMetadata() field.ErrorList {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	if r.Metadata.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the run's name"))
	} else {
		errs = append(errs, must(path.Child("name"), r.Metadata.Name, runName)...)
	}
	if r.Metadata.Namespace != "" {
		errs = append(errs, must(path.Child("namespace"), r.Metadata.Namespace, label)...)
	}
	return errs
}

func (c *Cluster) validateGroupNames(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]*field.Path{}
	for i, worker := range c.Workers {
		name := path.Index(i).Child("name")
		if worker.Name == GroupHead || worker.Name == GroupDriver {
			errs = append(errs, field.Invalid(name, worker.Name, "taken by tandem: choose another name for the group"))
			continue
		}
		errs = append(errs, uniqueName(name, worker.Name, "the name of a worker group", seen)...)
	}
	return append(errs, c.validateSegmentNames(path, seen)...)
}

// validateSegmentNames refuses a group that has the name of another's segment.
func (c *Cluster) validateSegmentNames(path *field.Path, groups map[string]*field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range c.Workers {
		for _, segment := range c.Workers[i].Segments() {
			if segment.Several && groups[segment.Name] != nil {
				errs = append(errs, field.Invalid(groups[segment.Name], segment.Name,
					fmt.Sprintf("is the name of a segment of group %q (%s): rename one", c.Workers[i].Name, path.Index(i))))
			}
		}
	}
	return errs
}

// validateReplicatedJobs refuses two pairs of cluster and group that make one name.
func (r *Run) validateReplicatedJobs(clusters *field.Path) field.ErrorList {
	var errs field.ErrorList
	jobs := map[string]string{}
	for i, cluster := range r.Spec.Clusters {
		path := clusters.Index(i)
		errs = append(errs, validateReplicatedJob(path.Child("name"), cluster.Name, GroupHead, jobs)...)
		for j := range cluster.Workers {
			for _, segment := range cluster.Workers[j].Segments() {
				errs = append(errs, validateReplicatedJob(path.Child("workers").Index(j).Child("name"), cluster.Name, segment.Name, jobs)...)
			}
		}
	}
	return errs
}

// validateReplicatedJob checks the name of one; seen holds the cluster of each that is taken.
func validateReplicatedJob(path *field.Path, cluster, group string, seen map[string]string) field.ErrorList {
	job := ReplicatedJobName(cluster, group)
	if other, taken := seen[job]; taken {
		if other == cluster {
			return nil // a duplicate group, which is reported as such
		}
		return field.ErrorList{field.Invalid(path, group, fmt.Sprintf("cluster and group make the replicatedJob %q, which another pair makes too: rename one", job))}
	}
	seen[job] = cluster
	return nil
}

// uniqueName checks a name that becomes part of DNS names.
func uniqueName(path *field.Path, name, what string, seen map[string]*field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, what)}
	}
	if seen[name] != nil {
		return duplicate(path, name, seen[name])
	}
	seen[name] = path
	return must(path, name, label)
}

func invalid(path *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
