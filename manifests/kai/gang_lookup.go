package kai

import (
	"fmt"
	"strconv"
)

const (
	labelProject    = "project"
	defaultPriority = "train"
)

// first is the first value that is there: KAI asks the top owner, then the pod.
func (o *owner) first(key string) string {
	if value := o.meta.Labels[key]; value != "" {
		return value
	}
	for _, g := range o.groups {
		if value := g.template.Labels[key]; value != "" {
			return value
		}
	}
	return ""
}

func (o *owner) queue() string {
	for _, key := range []string{LabelQueue, labelProject} {
		if queue := o.first(key); queue != "" {
			return queue
		}
	}
	return DefaultQueue
}

func (o *owner) priorityClass() string {
	if class := o.meta.Labels[LabelRayPriorityClass]; class != "" && o.ray != nil {
		return class
	}
	if class := o.first(LabelPriorityClass); class != "" {
		return class
	}
	for _, g := range o.groups {
		if g.template.Spec.PriorityClassName != "" {
			return g.template.Spec.PriorityClassName
		}
	}
	return defaultPriority
}

// staleness is what the owner says about missing pods, where the version listens.
func (o *owner) staleness(features Features) string {
	if !features.StalenessGracePeriod {
		return ""
	}
	if value := o.meta.Annotations[AnnotationStaleness]; value != "" {
		return value
	}
	for _, g := range o.groups {
		if value := g.template.Annotations[AnnotationStaleness]; value != "" {
			return value
		}
	}
	return ""
}

// skipped tells whether the podgrouper leaves all pods of the owner alone. It looks at each pod, then at its owners.
func (o *owner) skipped(features Features) bool {
	for _, g := range o.groups {
		if g.usesKAI() && !o.skips(features, g) {
			return false
		}
	}
	return true
}

func (o *owner) skips(features Features, g *group) bool {
	if o.kind == "Pod" && g.podGroup() != "" {
		return true // it has no owner, and a name already
	}
	return features.SkipPodGrouper &&
		(o.meta.Annotations[AnnotationSkipPodGrouper] == "true" || g.template.Annotations[AnnotationSkipPodGrouper] == "true")
}

func (g *group) podGroup() string { return g.template.Annotations[AnnotationPodGroup] }

// subGroup is the leaf that the pods name.
func (g *group) subGroup() string { return g.template.Labels[LabelSubGroup] }

// minMember reads the annotation; 0 is absent.
func minMember(annotations map[string]string) (int32, error) {
	text, found := annotations[AnnotationMinMember]
	if !found {
		return 0, nil
	}
	value, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("annotation %s %q is not a number; KAI leaves the pods ungrouped", AnnotationMinMember, text)
	}
	return int32(value), nil
}

func tooSmall(value int32) string {
	return fmt.Sprintf("annotation %s is %d and must be at least 1", AnnotationMinMember, value)
}

// constraint reads topology annotations. KAI ignores a topology without a level.
func constraint(annotations map[string]string) *TopologyConstraint {
	c := &TopologyConstraint{
		Topology:  annotations[AnnotationTopology],
		Required:  annotations[AnnotationTopologyRequired],
		Preferred: annotations[AnnotationTopologyPreferred],
	}
	if c.Topology == "" || (c.Required == "" && c.Preferred == "") {
		return nil
	}
	return c
}
