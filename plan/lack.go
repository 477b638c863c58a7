package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// lacking says in numbers what keeps the crew out of the rooms that are for it: the first resource of which there is not enough, by itself
// or on the nodes that have enough of those before it.
func (c *crew) lacking(ask Resources, rooms []*room, domain string, closed map[string]int) Finding {
	if len(rooms) == 0 {
		return Finding{Short, "nodes", fmt.Sprintf("group %s wants %s, and no node is for it%s", c.label(), c.wants("", 0), inReasons(": ", closed))}
	}
	beside := ""
	if slices.ContainsFunc(rooms, func(r *room) bool { return r.shared }) {
		beside = " beside the rest of the run"
	}
	short, has := c.firstShort(ask, rooms)
	text := fmt.Sprintf("group %s wants %s, and %s%s%s%s", c.label(), c.wants(short, ask[short]), best(domain),
		has.inWords(short, ask[short], beside), has.idleInWords(short, ask[short]), inReasons("; not for it: ", closed))
	return Finding{Short, string(short), text}
}

// firstShort is what is short, and how much of it the rooms have; the last one asked for if nothing is.
func (c *crew) firstShort(ask Resources, rooms []*room) (short corev1.ResourceName, has supply) {
	together := Resources{}
	var enough []string
	for _, name := range ask.names() {
		together[name] = ask[name]
		if has = c.supply(rooms, Resources{name: ask[name]}); has.pods < int64(c.pods) {
			return name, has
		}
		if has = c.supply(rooms, together); has.pods < int64(c.pods) {
			has.with = " with enough " + strings.Join(enough, " and ")
			return name, has
		}
		short, enough = name, append(enough, string(name))
	}
	return short, has
}

// label tells a segment from the others of its group.
func (c *crew) label() string { return c.cluster + "/" + c.part }

// wants is what the crew asks for: 4 x 8 within one rack.
func (c *crew) wants(name corev1.ResourceName, each int64) string {
	text := fmt.Sprintf("%d pods", c.pods)
	switch {
	case name != "" && name != corev1.ResourcePods:
		text = fmt.Sprintf("%d x %s", c.pods, amountOf(name, each))
	case c.pods == 1:
		text = "1 pod"
	}
	if c.level != "" {
		text += " within one " + c.level
	}
	return text
}

func best(domain string) string {
	if domain == "" {
		return ""
	}
	return "in the best, " + domain + ", "
}

// supply is how many rooms have enough for a pod, and for how many pods; now and when idle.
type supply struct {
	nodes, pods, idleNodes, idlePods int64
	with                             string // which nodes were looked at, if not all
}

func (c *crew) supply(rooms []*room, ask Resources) supply {
	var s supply
	most := c.perNode()
	for _, r := range rooms {
		now, idle := min(fits(r.free, ask), most), min(fits(r.whole, ask), most)
		s.pods, s.idlePods = s.pods+now, s.idlePods+idle
		s.nodes, s.idleNodes = s.nodes+min(now, 1), s.idleNodes+min(idle, 1)
	}
	return s
}

func (s supply) inWords(name corev1.ResourceName, each int64, beside string) string {
	if s.pods > s.nodes {
		return fmt.Sprintf("%s room for %d%s", s.nodesHave(s.nodes), s.pods, beside)
	}
	return fmt.Sprintf("%s %s free%s", s.nodesHave(s.nodes), amountOf(name, each), beside)
}

// idleInWords tells what is taken from what is not there at all.
func (s supply) idleInWords(name corev1.ResourceName, each int64) string {
	switch {
	case s.idlePods == s.pods:
		return ""
	case s.idlePods > s.idleNodes:
		return fmt.Sprintf(" (room for %d when idle)", s.idlePods)
	default:
		return fmt.Sprintf(" (%s %s when idle)", s.nodesHave(s.idleNodes), amountOf(name, each))
	}
}

func (s supply) nodesHave(n int64) string {
	switch n {
	case 0:
		return "no node" + s.with + " has"
	case 1:
		return "1 node" + s.with + " has"
	default:
		return fmt.Sprintf("%d nodes%s have", n, s.with)
	}
}

// inReasons counts the nodes that are not for a crew by why.
func inReasons(before string, closed map[string]int) string {
	var out []string
	for _, why := range slices.Sorted(maps.Keys(closed)) {
		out = append(out, fmt.Sprintf("%d %s", closed[why], why))
	}
	if len(out) == 0 {
		return ""
	}
	return before + strings.Join(out, ", ")
}
