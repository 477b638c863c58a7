package plan

import (
	"cmp"
	"maps"
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
	for _, c := range p.bySize() {
		on, lack := c.placeInto(rooms, levels)
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

// bySize is the order of placing: what must share a domain, then by the GPUs, memory and CPU of one pod.
func (p *Plan) bySize() []*crew {
	out := make([]*crew, len(p.crews))
	for i := range p.crews {
		out[i] = &p.crews[i]
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

// placeInto takes what the crew needs from the rooms, also when it is not enough: what comes later shall not seem to fit. It returns how
// many pods went to which node, and what is lacking.
func (c *crew) placeInto(rooms []*room, levels []string) (on map[string]int64, lack *Finding) {
	ask := c.ask()
	open, closed := []*room{}, map[string]int{}
	for _, r := range rooms {
		why := r.unfit(c)
		if why == "" && c.level != "" {
			why = unlabelled(r.node, append([]string{c.level}, levels...))
		}
		if why == "" {
			open = append(open, r)
		} else {
			closed[why]++
		}
	}
	domain, within := c.bestDomain(open, ask)
	if c.supply(within, ask).pods < int64(c.pods) {
		found := c.lacking(ask, within, domain, closed)
		lack = &found
	}
	return fill(within, ask, int64(c.pods), c.perNode()), lack
}

// ask is what one pod takes of a node.
func (c *crew) ask() Resources {
	ask := Resources{corev1.ResourcePods: 1}
	ask.add(c.each, 1)
	return ask
}

func unlabelled(node *corev1.Node, labels []string) string {
	for _, label := range labels {
		if _, labelled := node.Labels[label]; !labelled {
			return "without label " + label
		}
	}
	return ""
}

// bestDomain is the domain with the least room that is enough, or that with the most.
func (c *crew) bestDomain(open []*room, ask Resources) (name string, within []*room) {
	if c.level == "" {
		return "", open
	}
	domains, has := map[string][]*room{}, map[string]int64{}
	for _, r := range open {
		domain := r.node.Labels[c.level]
		domains[domain] = append(domains[domain], r)
		has[domain] += min(fits(r.free, ask), c.perNode())
	}
	want := int64(c.pods)
	for _, domain := range slices.Sorted(maps.Keys(domains)) {
		best, better := has[name], has[domain]
		enough := better >= want && (best < want || better < best)
		if within == nil || enough || best < want && better > best {
			name, within = domain, domains[domain]
		}
	}
	return name, within
}

// fill puts pods where the fewest fit, so that whole nodes stay free, and takes from the rooms.
func fill(rooms []*room, ask Resources, pods, perNode int64) (on map[string]int64) {
	on = map[string]int64{}
	sorted := slices.Clone(rooms)
	has := map[*room]int64{}
	for _, r := range rooms {
		has[r] = min(fits(r.free, ask), perNode)
	}
	slices.SortStableFunc(sorted, func(a, b *room) int { return cmp.Compare(has[a], has[b]) })
	for _, r := range sorted {
		n := min(has[r], pods)
		if n == 0 {
			continue
		}
		r.free.add(ask, -n)
		r.shared = true
		on[r.node.Name] = n
		pods -= n
	}
	return on
}
