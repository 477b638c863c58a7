package plan

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// site is where the pods of a group may go. It lives while the group is placed: what others take meanwhile it would not notice.
type site struct {
	group   string
	ask     Resources          // what one pod takes of a node
	closed  map[string]int     // nodes that are not for the group, by why
	domains map[string][]*room // the others, by the value of the level; all in "" where there is none
	has     map[string]int64   // for how many pods each domain has room
}

func (c *crew) site(rooms []*room, levels []string) *site {
	s := &site{group: c.name(), ask: c.ask(), closed: map[string]int{}, domains: map[string][]*room{}, has: map[string]int64{}}
	for _, r := range rooms {
		why := r.unfit(c)
		if why == "" && c.level != "" {
			why = unlabelled(r.node, append([]string{c.level}, levels...))
		}
		if why != "" {
			s.closed[why]++
			continue
		}
		domain := ""
		if c.level != "" {
			domain = r.node.Labels[c.level]
		}
		s.domains[domain] = append(s.domains[domain], r)
	}
	for domain, within := range s.domains {
		s.has[domain] = c.supply(within, s.ask).pods
	}
	return s
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

// placeAt takes what the crew needs, also when it is not enough: what comes later shall not seem to fit. It returns how many pods went to
// which node, and what is lacking.
func (c *crew) placeAt(s *site) (on map[string]int64, lack *Finding) {
	domain := s.best(int64(c.pods))
	within := s.domains[domain]
	if s.has[domain] < int64(c.pods) {
		found := c.lacking(s.ask, within, domain, s.closed)
		lack = &found
	}
	on = fill(within, s.ask, int64(c.pods), c.perNode())
	s.has[domain] = c.supply(within, s.ask).pods
	return on, lack
}

// best is the domain with the least room that is enough, or that with the most.
func (s *site) best(want int64) string {
	if len(s.domains) == 0 {
		return ""
	}
	return slices.MinFunc(slices.Collect(maps.Keys(s.domains)), func(a, b string) int {
		switch enoughA, enoughB := s.has[a] >= want, s.has[b] >= want; {
		case enoughA && enoughB:
			return cmp.Or(cmp.Compare(s.has[a], s.has[b]), cmp.Compare(a, b))
		case enoughA:
			return -1
		case enoughB:
			return 1
		default:
			return cmp.Or(-cmp.Compare(s.has[a], s.has[b]), cmp.Compare(a, b))
		}
	})
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
