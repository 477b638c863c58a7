package v1alpha1

// What package schema tells of the rules that are kept here.

// Patterns are the regular expressions that texts must match, by Go type and field. What else is asked of them only
// Validate knows.
func Patterns() map[string]string {
	return map[string]string{
		"Metadata.Name":      runName.pattern.String(),
		"Metadata.Namespace": label.pattern.String(),
		"Cluster.Name":       label.pattern.String(),
		"WorkerGroup.Name":   label.pattern.String(),
		"Spec.Image":         imageReference.pattern.String(),
		"Spec.SidecarImage":  imageReference.pattern.String(),
		"Group.Image":        imageReference.pattern.String(),
		"GitSource.Image":    imageReference.pattern.String(),
	}
}

// Nearest is the known name that a misspelt one most likely meant, or "".
func Nearest(name string, known []string) string {
	set := map[string]bool{}
	for _, k := range known {
		set[k] = true
	}
	return nearest(name, set)
}
