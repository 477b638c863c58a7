package kai

import (
	"fmt"
	"slices"
	"strings"
)

// externalGang is a PodGroup among the objects, with the pods that name it.
func externalGang(features Features, podGroup *PodGroup, objects *Objects) Gang {
	gang := Gang{
		Name: podGroup.Metadata.Name, Namespace: podGroup.Metadata.Namespace, External: true, Count: 1,
		Queue: podGroup.Spec.Queue, PriorityClass: podGroup.Spec.PriorityClassName, staleness: podGroup.Spec.StalenessGracePeriod,
	}
	pods := map[string]int32{}
	for _, o := range objects.owners {
		for _, g := range o.groups {
			if g.usesKAI() && g.podGroup() == gang.Name && o.meta.Namespace == gang.Namespace && o.skips(features, g) {
				gang.members = append(gang.members, member{o, g})
				pods[g.subGroup()] += g.pods
			}
		}
	}
	for _, sub := range podGroup.Spec.SubGroups {
		gang.SubGroups = append(gang.SubGroups, SubGroup{
			Name: sub.Name, Parent: sub.Parent, Min: or(sub.MinMember, 0), Pods: pods[sub.Name],
			MinSubGroup: or(sub.MinSubGroup, children(podGroup.Spec.SubGroups, sub.Name)), Topology: sub.TopologyConstraint,
		})
	}
	gang.count(podGroup, pods)
	if len(gang.members) == 0 {
		gang.breaks(RuleMember, noMembers(features))
	}
	return gang
}

// count sets the sizes. Where there are subgroups only pods that name a leaf count.
func (g *Gang) count(podGroup *PodGroup, pods map[string]int32) {
	if len(g.SubGroups) == 0 {
		g.Min = or(podGroup.Spec.MinMember, 1)
		for _, name := range sortedKeys(pods) {
			g.Pods += pods[name]
		}
		return
	}
	for _, leaf := range g.Leaves() {
		g.Pods += leaf.Pods
	}
	g.MinSubGroup = or(podGroup.Spec.MinSubGroup, children(podGroup.Spec.SubGroups, ""))
	g.Min = required(g.SubGroups, []string{""}, g.MinSubGroup)
}

func noMembers(features Features) string {
	if !features.SkipPodGrouper {
		return "before KAI 0.15 the podgrouper takes owned pods away from a PodGroup that it did not make"
	}
	return fmt.Sprintf("no pods of the objects name it in annotation %s and skip the podgrouper", AnnotationPodGroup)
}

func children(groups []SubGroupSpec, parent string) int32 {
	n := int32(0)
	for _, group := range groups {
		if group.Parent == parent {
			n++
		}
	}
	return n
}

// required is how many pods must be placed below the last of a path: KAI takes the first subgroups by name where not all are needed.
// Names that are already on the path are not followed: bad objects have such.
func required(subGroups []SubGroup, path []string, need int32) int32 {
	var below []SubGroup
	for _, sub := range subGroups {
		if sub.Parent == path[len(path)-1] && !slices.Contains(path, sub.Name) {
			below = append(below, sub)
		}
	}
	slices.SortFunc(below, func(a, b SubGroup) int { return strings.Compare(a.Name, b.Name) })
	sum := int32(0)
	for _, sub := range below[:min(int(max(need, 0)), len(below))] {
		if sub.MinSubGroup > 0 {
			sum += required(subGroups, append(path[:len(path):len(path)], sub.Name), sub.MinSubGroup)
			continue
		}
		sum += sub.Min
	}
	return sum
}
