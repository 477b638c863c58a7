package kai

import (
	"fmt"
	"slices"
	"strings"
)

// Gang is a PodGroup that a KAI version will have for the objects.
type Gang struct {
	Name      string // "pg-<owner>-<uid>" where the podgrouper makes it
	Namespace string
	Owner     string // "JobSet run7"; "" where the PodGroup is one of the objects
	External  bool   // the PodGroup is one of the objects
	Count     int32  // how many there are of this shape; more than 1 only where each pod has its own
	Min       int32  // pods that must be placed at once before any starts
	Pods      int32  // pods that belong to it
	// MinSubGroup is how many of the subgroups without a parent are needed; 0 without subgroups.
	MinSubGroup   int32
	SubGroups     []SubGroup
	Queue         string
	PriorityClass string
	// Broken says why KAI will not make the PodGroup, or why no pod will join it; "" where all is well.
	Broken string

	brokenBy  Rule   // what Broken is a case of
	staleness string // its own grace period; "" is the scheduler's
	members   []member
}

// SubGroup is a node of a gang's tree.
type SubGroup struct {
	Name, Parent string
	Min          int32 // pods; of leaves
	MinSubGroup  int32 // children; of parents
	Pods         int32 // pods that belong to it; of leaves
	Topology     *TopologyConstraint
}

// member is a group of pods in a gang.
type member struct {
	owner *owner
	group *group
}

// IsGang tells whether pods wait for each other.
func (g *Gang) IsGang() bool { return g.Min > 1 }

// Leaves are the subgroups that hold pods.
func (g *Gang) Leaves() []SubGroup {
	parents := map[string]bool{}
	for _, sub := range g.SubGroups {
		parents[sub.Parent] = true
	}
	var out []SubGroup
	for _, sub := range g.SubGroups {
		if !parents[sub.Name] {
			out = append(out, sub)
		}
	}
	return out
}

func (g *Gang) has(o *owner) bool {
	for _, m := range g.members {
		if m.owner == o {
			return true
		}
	}
	return false
}

// breaks keeps the first reason.
func (g *Gang) breaks(by Rule, reason string) {
	if g.Broken == "" && reason != "" {
		g.Broken, g.brokenBy = reason, by
	}
}

// String describes the gang in lines for people, the tree indented.
func (g Gang) String() string {
	var out strings.Builder
	out.WriteString("PodGroup " + g.Name)
	if g.Owner != "" {
		out.WriteString(" of " + g.Owner)
	}
	if g.Count > 1 {
		fmt.Fprintf(&out, ", %d of them", g.Count)
	}
	fmt.Fprintf(&out, ": starts %d of %d pods together, queue %s", g.Min, g.Pods, g.Queue)
	if g.Broken != "" {
		fate := "never made"
		if g.External {
			fate = "holds no pods"
		}
		fmt.Fprintf(&out, "\n  %s: %s", fate, g.Broken)
	}
	if len(g.SubGroups) > 0 {
		below := map[string][]SubGroup{}
		for _, sub := range g.SubGroups {
			below[sub.Parent] = append(below[sub.Parent], sub)
		}
		fmt.Fprintf(&out, "\n  needs %d of %d subgroups", g.MinSubGroup, len(below[""]))
		write(&out, below, []string{""})
	}
	return out.String()
}

// write prints the subgroups below the last of a path. Names that are already on the path are not followed: bad objects have such.
func write(out *strings.Builder, below map[string][]SubGroup, path []string) {
	indent := strings.Repeat("  ", len(path))
	for _, sub := range below[path[len(path)-1]] {
		if len(below[sub.Name]) == 0 || slices.Contains(path, sub.Name) {
			fmt.Fprintf(out, "\n%s- %s: %d of %d pods%s", indent, sub.Name, sub.Min, sub.Pods, sub.Topology.suffix())
			continue
		}
		fmt.Fprintf(out, "\n%s- %s: needs %d of %d subgroups%s", indent, sub.Name, sub.MinSubGroup, len(below[sub.Name]), sub.Topology.suffix())
		write(out, below, append(path[:len(path):len(path)], sub.Name))
	}
}

func (c *TopologyConstraint) suffix() string {
	if c == nil {
		return ""
	}
	out := ", topology " + c.Topology
	if c.Required != "" {
		out += ", within one " + c.Required
	}
	if c.Preferred != "" {
		out += ", if possible one " + c.Preferred
	}
	return out
}

// Gangs lists the PodGroups that this version will have: those among the objects first, then those that the podgrouper makes, in the
// order of the objects. Owners none of whose pods use KAI have none.
func Gangs(v Version, objects *Objects) []Gang {
	features := v.Features()
	var out []Gang
	for _, podGroup := range objects.podGroups {
		out = append(out, externalGang(features, podGroup, objects))
	}
	for _, o := range objects.owners {
		if !o.usesKAI() || o.skipped(features) {
			continue
		}
		for _, gang := range podgrouped(features, o) {
			gang.Namespace = o.meta.Namespace
			gang.Owner = o.String()
			gang.Queue = o.queue()
			gang.PriorityClass = o.priorityClass()
			gang.staleness = o.staleness(features)
			out = append(out, gang)
		}
	}
	return out
}

// podgrouped are the PodGroups that the podgrouper makes of one owner.
func podgrouped(features Features, o *owner) []Gang {
	switch {
	case o.jobSet != nil:
		return jobSetGangs(features, o)
	case o.ray != nil:
		return []Gang{rayGang(features, o)}
	case o.job != nil && features.JobMinMember:
		return []Gang{jobGang(o)}
	default:
		return []Gang{perPod(o, o.groups[0])}
	}
}

// perPod is a PodGroup for each pod: no gang.
func perPod(o *owner, g *group) Gang {
	return Gang{Name: podGroupPrefix + "<pod>-<uid>", Count: g.pods, Min: 1, Pods: 1, members: []member{{o, g}}}
}

const podGroupPrefix = "pg-"

// made is the PodGroup of a whole owner.
func made(o *owner, name string) Gang {
	gang := Gang{Name: podGroupPrefix + name + "-<uid>", Count: 1, Pods: o.total()}
	for _, g := range o.groups {
		gang.members = append(gang.members, member{o, g})
	}
	return gang
}

// jobGang is a batch Job from 0.14.1 on.
func jobGang(o *owner) Gang {
	gang := made(o, o.meta.Name)
	gang.Min = 1
	gang.override(o.meta.Annotations, true)
	return gang
}

// override puts the annotation in place of the minimum, as the podgrouper does; one that is no number leaves the pods ungrouped. What is
// below 1 the CRD refuses; strict is false for the JobSets of 0.14, where the podgrouper ignores it.
func (g *Gang) override(annotations map[string]string, strict bool) {
	value, err := minMember(annotations)
	switch {
	case err != nil:
		g.breaks(RuleMinMember, err.Error())
	case value < 1 && strict && annotations[AnnotationMinMember] != "":
		g.breaks(RuleMinMember, tooSmall(value))
	case value > 0:
		g.Min = value
	}
}
