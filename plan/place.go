package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// judgeRoom places all pods on what is free, the largest first.
func (p *Plan) judgeRoom(s *Sight) {
	const about = "nodes"
	switch {
	case s.Nodes.Err != nil:
		p.cannotTell(about, s.Nodes.Err)
		return
	case s.Pods.Err != nil:
		p.cannotTell("pods on the nodes", s.Pods.Err)
		return
	}
	rooms := p.rooms(s.Nodes.Value, s.Pods.Value)
	levels := p.levelsOfNodes(s)
	used, short := map[string]bool{}, map[string]int{}
	var at *site
	for _, c := range p.bySize() {
		if at == nil || at.group != c.name() {
			at = c.site(rooms, levels)
		}
		on, lack := c.placeAt(at)
		for node := range on {
			used[node] = true
		}
		if lack == nil {
			continue
		}
		if short[c.name()]++; short[c.name()] == 1 { // its other segments lack the same
			p.Findings = append(p.Findings, *lack)
		}
	}
	if len(short) == 0 {
		p.find(OK, about, "%d pods find room on %d of %d nodes, by an estimate", p.Pods, len(used), len(rooms))
	}
}

// levelsOfNodes are the labels that a node must have to count for KAI's topology: all levels of it.
func (p *Plan) levelsOfNodes(s *Sight) []string {
	if p.run.Spec.Scheduling.Topology == nil || s.Topology.Err != nil || s.Topology.Value == nil {
		return nil
	}
	var out []string
	for _, level := range s.Topology.Value.Spec.Levels {
		out = append(out, level.NodeLabel)
		for i := range p.crews { // an alias is not on nodes
			if c := &p.crews[i]; level.Alias != "" && c.level == level.Alias {
				c.level = level.NodeLabel
			}
		}
	}
	return out
}

// bySize is the order of placing: what must share a domain, then by the GPUs, memory and CPU of one pod. The segments of a group that need
// not share one are placed as one, those that do stay side by side.
func (p *Plan) bySize() []*crew {
	var out []*crew
	for i := range p.crews {
		c := p.crews[i]
		if last := len(out) - 1; c.level == "" && last >= 0 && out[last].name() == c.name() {
			out[last].pods, out[last].part = out[last].pods+c.pods, c.group
			continue
		}
		out = append(out, &c)
	}
	bound := func(c *crew) int {
		if c.level != "" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b *crew) int {
		return cmp.Or(
			-cmp.Compare(bound(a), bound(b)),
			-cmp.Compare(a.each[v1alpha1.ResourceGPU], b.each[v1alpha1.ResourceGPU]),
			-cmp.Compare(a.each[v1alpha1.ResourceGPU]*int64(a.pods), b.each[v1alpha1.ResourceGPU]*int64(b.pods)),
			-cmp.Compare(a.each[corev1.ResourceMemory], b.each[corev1.ResourceMemory]),
			-cmp.Compare(a.each[corev1.ResourceCPU], b.each[corev1.ResourceCPU]))
	})
	return out
}
