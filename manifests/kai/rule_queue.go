package kai

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func (q *Queue) String() string { return kindQueue + " " + q.Metadata.Name }

func (q *Queue) resource(name corev1.ResourceName) (field string, share QueueResource) {
	switch name {
	case corev1.ResourceCPU:
		return "spec.resources.cpu", q.Spec.Resources.CPU
	case corev1.ResourceMemory:
		return "spec.resources.memory", q.Spec.Resources.Memory
	default:
		return "spec.resources.gpu", q.Spec.Resources.GPU
	}
}

// unitOf is what a queue's numbers count.
func unitOf(name corev1.ResourceName) string {
	switch name {
	case corev1.ResourceCPU:
		return "millicores"
	case corev1.ResourceMemory:
		return "MB"
	default:
		return "GPUs"
	}
}

// queueTree looks at the queues among the objects; about others nothing is known.
func (l *lint) queueTree() {
	for _, queue := range l.objects.queues {
		leaf := !l.isParent(queue.Metadata.Name)
		if leaf && queue.Spec.ParentQueue == "" && !l.features.QueueWithoutParent {
			l.refuse(queue.String(), "spec.parentQueue", "missing: KAI %s takes no pods in a queue without a parent (kai#621); add a parent", l.version)
		}
		for _, name := range shared {
			if at, share := queue.resource(name); share.Limit == 0 {
				l.refuse(queue.String(), at+".limit", "0, or missing, which is the same: no pod that asks for it ever runs; write %d for no limit", Unlimited)
			}
		}
	}
	for i := range l.gangs {
		if gang := &l.gangs[i]; l.isParent(gang.Queue) {
			l.refuse(gang.nameOf(), "spec.queue", "%q: is the parent of other queues, and only leaves take pods; name one of them", gang.Queue)
		}
	}
}

func (l *lint) isParent(name string) bool {
	return name != "" && slices.ContainsFunc(l.objects.queues, func(q *Queue) bool { return q.Spec.ParentQueue == name })
}

// chain is a queue and its ancestors, as far as they are among the objects.
func (l *lint) chain(name string) []*Queue {
	var out []*Queue
	for name != "" {
		i := slices.IndexFunc(l.objects.queues, func(q *Queue) bool { return q.Metadata.Name == name })
		if i < 0 || slices.Contains(out, l.objects.queues[i]) {
			break
		}
		out = append(out, l.objects.queues[i])
		name = l.objects.queues[i].Spec.ParentQueue
	}
	return out
}

// capacity is H7: all gangs of the objects in one queue together, because the run needs all of them.
func (l *lint) capacity() {
	need, fixed := map[string]map[corev1.ResourceName]float64{}, map[string]map[corev1.ResourceName]float64{}
	for i := range l.gangs {
		gang := &l.gangs[i]
		for _, queue := range l.chain(gang.Queue) {
			add(need, queue.Metadata.Name, gang)
			if l.nonPreemptible(gang) {
				add(fixed, queue.Metadata.Name, gang)
			}
		}
	}
	for _, queue := range l.objects.queues {
		for _, name := range shared {
			at, share := queue.resource(name)
			if wanted := need[queue.Metadata.Name][name]; share.Limit > 0 && wanted > share.Limit {
				l.refuse(queue.String(), at+".limit", "%g %s: the run needs %g to start, so it never does; raise it", share.Limit, unitOf(name), wanted)
			}
			if wanted := fixed[queue.Metadata.Name][name]; share.Quota != Unlimited && wanted > share.Quota {
				l.refuse(queue.String(), at+".quota", "%g %s: the non-preemptible gangs of the run need %g within it; raise it, or make them preemptible", share.Quota, unitOf(name), wanted)
			}
		}
	}
}

func add(sums map[string]map[corev1.ResourceName]float64, queue string, gang *Gang) {
	if sums[queue] == nil {
		sums[queue] = map[corev1.ResourceName]float64{}
	}
	for _, m := range gang.members {
		if !m.group.usesKAI() {
			continue
		}
		for name, amount := range requests(&m.group.template.Spec) {
			sums[queue][name] += amount * float64(gang.needs(m))
		}
	}
}

// needs is how many of the member's pods must run for the gang to start. Where the gang's minimum does not say of which groups its
// pods are, it is none: better no answer than a wrong one.
func (g *Gang) needs(m member) int32 {
	switch {
	case g.External && len(g.SubGroups) > 0:
		return min(m.group.pods, g.leafMin(m.group))
	case g.Min >= g.Pods:
		return m.group.pods
	case m.group.worker != nil:
		return min(m.group.pods, workerMinimum(m.group.worker))
	case m.group.name == headGroup:
		return 1
	}
	return 0
}

// alwaysRun are the priority classes that KAI's chart makes with a value of 100 and above.
var alwaysRun = []string{"build", "inference"}

func (l *lint) nonPreemptible(gang *Gang) bool {
	preemptibility := ""
	if gang.External {
		if podGroup := l.find(gang.Name, gang.Namespace); podGroup != nil {
			preemptibility = string(podGroup.Spec.Preemptibility)
		}
	} else {
		preemptibility = gang.members[0].owner.first(LabelPreemptibility)
	}
	if preemptibility != "" {
		return Preemptibility(preemptibility) == NonPreemptible
	}
	return slices.Contains(alwaysRun, gang.PriorityClass)
}

// topologies looks at every constraint in the objects.
func (l *lint) topologies() {
	l.owners(func(o *owner) {
		l.annotatedTopology(o, annotationAt(AnnotationTopology), o.meta.Annotations)
		for _, g := range o.groups {
			if o.kind != "Pod" {
				l.annotatedTopology(o, g.path(annotationAt(AnnotationTopology)), g.template.Annotations)
			}
			if o.jobSet != nil {
				l.annotatedTopology(o, fmt.Sprintf("spec.replicatedJobs[%d].template.%s", g.index, annotationAt(AnnotationTopology)),
					o.jobSet.Spec.ReplicatedJobs[g.index].Template.Annotations)
			}
		}
	})
	for _, podGroup := range l.objects.podGroups {
		l.levels(podGroup.String(), "spec.topologyConstraint", podGroup.Spec.TopologyConstraint)
		for i, sub := range podGroup.Spec.SubGroups {
			l.levels(podGroup.String(), fmt.Sprintf("spec.subGroups[%d].topologyConstraint", i), sub.TopologyConstraint)
		}
	}
}

func (l *lint) annotatedTopology(o *owner, at string, annotations map[string]string) {
	topology, levels := annotations[AnnotationTopology], annotations[AnnotationTopologyRequired]+annotations[AnnotationTopologyPreferred]
	switch {
	case topology != "" && levels == "":
		l.refuse(o.String(), at, "%q without a level keeps nothing together, and on the owner keeps the gang from ever starting; add %s or %s",
			topology, AnnotationTopologyRequired, AnnotationTopologyPreferred)
	case topology == "" && levels != "":
		l.refuse(o.String(), at, "missing: a level without its topology leaves the pods ungrouped; add it")
	default:
		l.levels(o.String(), at, constraint(annotations))
	}
}

// levels checks a constraint against its Topology, where that is among the objects.
func (l *lint) levels(object, at string, c *TopologyConstraint) {
	i := slices.IndexFunc(l.objects.topologies, func(t *Topology) bool { return c != nil && t.Metadata.Name == c.Topology })
	if i < 0 {
		return
	}
	topology := l.objects.topologies[i]
	for _, level := range []string{c.Required, c.Preferred} {
		if level != "" && topology.levelIndex(level) < 0 {
			l.refuse(object, at, "%q is no level of Topology %s, so the gang never starts; write one of its node labels: %v", level, c.Topology, topology.labels())
			return
		}
	}
	if c.Required != "" && c.Preferred != "" && topology.levelIndex(c.Preferred) < topology.levelIndex(c.Required) {
		l.refuse(object, at, "the preferred level %q is coarser than the required one, %q; exchange them", c.Preferred, c.Required)
	}
}

func (t *Topology) labels() []string {
	var out []string
	for _, level := range t.Spec.Levels {
		out = append(out, level.NodeLabel)
	}
	return out
}
