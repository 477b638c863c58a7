package kai

import (
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
)

// rayGang is a RayCluster, or a RayJob's: a subgroup for the head and each worker group.
func rayGang(features Features, o *owner) Gang {
	gang := made(o, o.meta.Name)
	head := SubGroup{Name: headGroup, Min: 1, Pods: 1, Topology: rayTopology(features, o.groups[0])}
	subGroups := []SubGroup{head}
	gang.Min = head.Min
	for _, g := range o.groups {
		if g.worker == nil {
			continue
		}
		if or(g.worker.MinReplicas, 0) > or(g.worker.Replicas, 0) {
			gang.breaks(RuleReplicas, fmt.Sprintf("worker group %q has fewer replicas (%d) than minReplicas (%d), which the podgrouper refuses",
				g.name, or(g.worker.Replicas, 0), or(g.worker.MinReplicas, 0)))
		}
		minimum := workerMinimum(g.worker)
		if minimum == 0 {
			continue
		}
		gang.Min += minimum
		subGroups = append(subGroups, SubGroup{Name: g.name, Min: minimum, Pods: g.pods, Topology: rayTopology(features, g)})
	}
	if !features.RaySubGroups {
		return gang
	}
	gang.SubGroups, gang.MinSubGroup = subGroups, int32(len(subGroups))
	gang.breaks(RuleGroupName, brokenTree(features, subGroups))
	return gang
}

// workerMinimum is minReplicas, or all replicas where that is 0. A suspended group counts in full: KAI looks for a field "suspended",
// which KubeRay calls "suspend".
func workerMinimum(worker *rayv1.WorkerGroupSpec) int32 {
	if minimum := or(worker.MinReplicas, 0); minimum > 0 {
		return minimum * hosts(worker)
	}
	return or(worker.Replicas, 0) * hosts(worker)
}

func rayTopology(features Features, g *group) *TopologyConstraint {
	if !features.RayTopologyPerGroup {
		return nil
	}
	return constraint(g.template.Annotations)
}
