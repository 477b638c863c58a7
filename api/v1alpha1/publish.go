package v1alpha1

// PublishedBy lists what the pods of a group publish.
func (c *Cluster) PublishedBy(group string) []Publish {
	var out []Publish
	for _, p := range c.Publish {
		if p.publishedBy(group) {
			out = append(out, p)
		}
	}
	return out
}

func (p Publish) publishedBy(group string) bool {
	switch {
	case p.Group != "":
		return p.Group == group
	case p.Member:
		return group != GroupHead
	default:
		return group == GroupHead
	}
}

// publishers is the number of pods that publish.
func (r *Run) publishers() int {
	n := 0
	for i := range r.Spec.Clusters {
		cluster := &r.Spec.Clusters[i]
		if len(cluster.PublishedBy(GroupHead)) > 0 {
			n++
		}
		for j := range cluster.Workers {
			worker := &cluster.Workers[j]
			if len(cluster.PublishedBy(worker.Name)) > 0 {
				n += int(worker.Pods())
			}
		}
	}
	return n
}

// RegistryShards is the number of ConfigMaps that the endpoints of a run with many publishers are spread over: none up to 16, then
// one for every four, at most 128. Package registry says why, and has the same rule.
func (r *Run) RegistryShards() int {
	publishers := r.publishers()
	if publishers <= 16 {
		return 0
	}
	return min(128, (publishers+3)/4)
}
