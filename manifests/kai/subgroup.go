package kai

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// subGroupProblems is what the webhook and the CRD of the version say about a tree of subgroups.
func subGroupProblems(features Features, groups []SubGroupSpec) []problem {
	var out []problem
	names := map[string]bool{}
	parents := map[string]int32{}
	for i, group := range groups {
		at := fmt.Sprintf("spec.subGroups[%d].name", i)
		out = append(out, checkSubGroupName(features, at, group.Name)...)
		if names[group.Name] {
			out = append(out, problem{at, fmt.Sprintf("%q: another subgroup has this name; rename the group or the cluster", group.Name)})
		}
		names[group.Name] = true
		if group.Parent != "" {
			parents[group.Parent]++
		}
	}
	for i, group := range groups {
		at := fmt.Sprintf("spec.subGroups[%d]", i)
		if group.Parent != "" && !names[group.Parent] {
			out = append(out, problem{at + ".parent", fmt.Sprintf("%q: no subgroup has this name", group.Parent)})
		}
		out = append(out, group.minimum(features, at, parents[group.Name] > 0)...)
		out = append(out, group.TopologyConstraint.problems(at+".topologyConstraint")...)
	}
	if cycle := findCycle(groups); len(cycle) > 0 {
		out = append(out, problem{"spec.subGroups", "the parents form a circle: " + strings.Join(cycle, ", ")})
	}
	return out
}

func checkSubGroupName(features Features, at, name string) []problem {
	if err := checkName("", name, validation.IsValidLabelValue); err != nil || name == "" {
		return []problem{{at, fmt.Sprintf("%q: is a label value of the pods: 1 to %d of letters, digits, '-', '_' and '.'; use a shorter or plainer group name",
			name, validation.LabelValueMaxLength)}}
	}
	if features.SubGroupNamePattern && checkName("", name, validation.IsDNS1123Label) != nil {
		return []problem{{at, fmt.Sprintf("%q: must be a DNS label since KAI 0.15: lower-case letters, digits and '-'; rename the group", name)}}
	}
	return nil
}

func (g SubGroupSpec) minimum(features Features, at string, parent bool) []problem {
	smallest := int32(1)
	if features.LeafMinMemberRequired {
		smallest = 0
	}
	switch {
	case g.MinSubGroup != nil && !features.MinSubGroup:
		return []problem{{at + ".minSubGroup", "this KAI version does not have it; leave it out"}}
	case parent && g.MinMember != nil && features.LeafMinMemberRequired:
		return []problem{{at + ".minMember", fmt.Sprintf("subgroup %q has children: it takes minSubGroup, or nothing for all of them", g.Name)}}
	case parent:
		return nil
	case g.MinSubGroup != nil:
		return []problem{{at + ".minSubGroup", fmt.Sprintf("subgroup %q has no children: it takes minMember", g.Name)}}
	case g.MinMember == nil && features.LeafMinMemberRequired:
		return []problem{{at + ".minMember", fmt.Sprintf("subgroup %q: required since KAI 0.15; write how many pods must start together", g.Name)}}
	case g.MinMember != nil && *g.MinMember < smallest:
		return []problem{{at + ".minMember", fmt.Sprintf("%d: must be at least %d", *g.MinMember, smallest)}}
	}
	return nil
}

// findCycle returns the names on a circle of parents, sorted; none where every subgroup has a root above it.
func findCycle(groups []SubGroupSpec) []string {
	parent := map[string]string{}
	for _, group := range groups {
		parent[group.Name] = group.Parent
	}
	for _, group := range groups {
		seen := map[string]bool{}
		for name := group.Name; name != ""; name = parent[name] {
			if seen[name] {
				cycle := []string{}
				for at := name; !slices.Contains(cycle, at); at = parent[at] {
					cycle = append(cycle, at)
				}
				slices.Sort(cycle)
				return cycle
			}
			seen[name] = true
		}
	}
	return nil
}
