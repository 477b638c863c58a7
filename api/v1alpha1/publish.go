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
