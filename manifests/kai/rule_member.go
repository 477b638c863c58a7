package kai

import (
	"fmt"
	"slices"
	"strings"
)

// membership checks what ties pods to the PodGroups among the objects.
func (l *lint) membership() {
	l.owners(func(o *owner) {
		for _, g := range o.groups {
			if !g.usesKAI() {
				continue
			}
			if g.podGroup() == "" {
				l.memberOfNone(o, g)
				continue
			}
			l.memberOf(o, g)
		}
	})
}

func (l *lint) memberOfNone(o *owner, g *group) {
	at := g.path(annotationAt(AnnotationPodGroup))
	switch {
	case o.skips(l.features, g):
		l.refuse(o.String(), at, "missing: the podgrouper leaves these pods alone and they name no PodGroup, so they are never scheduled; add it, or take %s away",
			AnnotationSkipPodGrouper)
	case o.kind != "Pod" && l.external(o) != nil:
		l.refuse(o.String(), at, "missing: other pods of it are in %s, and the podgrouper makes a second gang that waits for all of them; add it", l.external(o).nameOf())
	}
}

func (l *lint) memberOf(o *owner, g *group) {
	at := g.path(annotationAt(AnnotationPodGroup))
	if !o.skips(l.features, g) {
		if l.features.SkipPodGrouper { // otherwise RuleVersion says more
			l.refuse(o.String(), at, "the podgrouper writes a name of its own over it; add annotation %s: \"true\" to the owner and to the pod template", AnnotationSkipPodGrouper)
		}
		return
	}
	if o.kind != "Pod" && (o.meta.Annotations[AnnotationSkipPodGrouper] != "true" || g.template.Annotations[AnnotationSkipPodGrouper] != "true") {
		l.warn(o.String(), "", "annotation %s: \"true\" is on the owner or on the pod template of %q alone: the template's needs no rights to read owners, "+
			"the owner's holds for pods of other templates; put it on both", AnnotationSkipPodGrouper, g.name)
	}
	podGroup := l.find(g.podGroup(), o.meta.Namespace)
	if podGroup == nil {
		l.refuse(o.String(), at, "no PodGroup %q in namespace %q is among the objects: the pods would be left pending without a word; correct the name", g.podGroup(), o.meta.Namespace)
		return
	}
	l.subGroupOf(o, g, podGroup)
}

func (l *lint) find(name, namespace string) *PodGroup {
	for _, podGroup := range l.objects.podGroups {
		if podGroup.Metadata.Name == name && podGroup.Metadata.Namespace == namespace {
			return podGroup
		}
	}
	return nil
}

func (l *lint) subGroupOf(o *owner, g *group, podGroup *PodGroup) {
	at, name := g.path(fmt.Sprintf("metadata.labels[%s]", LabelSubGroup)), g.subGroup()
	known := slices.ContainsFunc(podGroup.Spec.SubGroups, func(sub SubGroupSpec) bool { return sub.Name == name })
	switch {
	case len(podGroup.Spec.SubGroups) == 0 && name != "":
		l.refuse(o.String(), at, "%q: PodGroup %s has no subgroups, so these pods are ignored; take the label away", name, podGroup.Metadata.Name)
	case len(podGroup.Spec.SubGroups) == 0:
	case name == "":
		l.refuse(o.String(), at, "missing: PodGroup %s has subgroups, and pods that name none are ignored; write one of %s", podGroup.Metadata.Name, leafNames(podGroup))
	case !known:
		l.refuse(o.String(), at, "%q: PodGroup %s has no such subgroup, so these pods are ignored; write one of %s", name, podGroup.Metadata.Name, leafNames(podGroup))
	case children(podGroup.Spec.SubGroups, name) > 0:
		l.refuse(o.String(), at, "%q: has subgroups below it, and pods belong to those; write one of %s", name, leafNames(podGroup))
	}
}

func leafNames(podGroup *PodGroup) string {
	var names []string
	for _, sub := range podGroup.Spec.SubGroups {
		if children(podGroup.Spec.SubGroups, sub.Name) == 0 {
			names = append(names, sub.Name)
		}
	}
	return strings.Join(names, ", ")
}

// schedulerNames finds pods that their gang waits for and KAI never sees.
func (l *lint) schedulerNames() {
	for _, o := range l.objects.owners {
		for _, g := range o.groups {
			if g.usesKAI() || g.name == submitter || g.pods == 0 {
				continue
			}
			if l.missedBy(o) || g.podGroup() != "" {
				l.refuse(o.String(), g.path("spec.schedulerName"), "%q: the gang waits for these pods and KAI does not see them; write %s",
					g.template.Spec.SchedulerName, SchedulerName)
			}
		}
	}
}

// missedBy tells whether the podgrouper makes a gang of the whole owner.
func (l *lint) missedBy(o *owner) bool {
	for i := range l.gangs {
		if gang := &l.gangs[i]; !gang.External && gang.IsGang() && gang.has(o) {
			return true
		}
	}
	return false
}

// sizes is H5.
func (l *lint) sizes() {
	for i := range l.gangs {
		gang := &l.gangs[i]
		if !gang.External || gang.Broken != "" {
			continue
		}
		if len(gang.SubGroups) == 0 {
			if gang.Min > gang.Pods {
				l.refuse(gang.nameOf(), "spec.minMember", "%d: only %d pods name it; lower it or add pods", gang.Min, gang.Pods)
			}
			continue
		}
		for _, leaf := range gang.Leaves() {
			l.leafSize(gang, leaf)
		}
	}
}

func (l *lint) leafSize(gang *Gang, leaf SubGroup) {
	at := fmt.Sprintf("spec.subGroups[%s].minMember", leaf.Name)
	switch {
	case leaf.Min > leaf.Pods:
		l.refuse(gang.nameOf(), at, "%d: only %d pods carry label %s: %s, so the gang never starts; correct one of the two", leaf.Min, leaf.Pods, LabelSubGroup, leaf.Name)
	case leaf.Min > 0 && leaf.Min < leaf.Pods && !gang.autoscaled(leaf.Name):
		l.warn(gang.nameOf(), at, "%d: %d pods belong to it, and the gang starts without the others; write %d to wait for all", leaf.Min, leaf.Pods, leaf.Pods)
	}
}

func (g *Gang) autoscaled(leaf string) bool {
	for _, m := range g.members {
		if m.group.subGroup() == leaf && m.owner.ray != nil && or(m.owner.ray.EnableInTreeAutoscaling, false) {
			return true
		}
	}
	return false
}

// suspendedMembers is H6.
func (l *lint) suspendedMembers() {
	for i := range l.gangs {
		gang := &l.gangs[i]
		if !gang.External {
			continue
		}
		var suspended []*owner
		running := false
		for _, o := range gang.owners() {
			if o.suspended {
				suspended = append(suspended, o)
			} else {
				running = true
			}
		}
		for _, o := range suspended {
			if running {
				l.refuse(o.String(), "spec.suspend", "true: the other members of %s wait for its pods, or are deleted if they run already; suspend all of them or none", gang.nameOf())
			}
		}
	}
}

// owners of the members, each once.
func (g *Gang) owners() []*owner {
	var out []*owner
	for _, m := range g.members {
		if !slices.Contains(out, m.owner) {
			out = append(out, m.owner)
		}
	}
	return out
}

// oneQueue is H11.
func (l *lint) oneQueue() {
	for i := range l.gangs {
		gang := &l.gangs[i]
		if !gang.External {
			continue
		}
		for _, m := range gang.members {
			l.queueOf(gang, m)
			if class := m.group.template.Spec.PriorityClassName; class != "" && class != gang.PriorityClass {
				l.warn(m.owner.String(), m.group.path("spec.priorityClassName"), "%q: KAI goes by the one of %s (%q); write the same", class, gang.nameOf(), gang.PriorityClass)
			}
		}
	}
}

func (l *lint) queueOf(gang *Gang, m member) {
	queue := m.group.template.Labels[LabelQueue]
	at := m.group.path(fmt.Sprintf("metadata.labels[%s]", LabelQueue))
	if queue == "" {
		queue, at = m.owner.meta.Labels[LabelQueue], fmt.Sprintf("metadata.labels[%s]", LabelQueue)
	}
	if queue != "" && queue != gang.Queue {
		l.refuse(m.owner.String(), at, "%q: %s is in queue %q, which is the one that counts; write the same", queue, gang.nameOf(), gang.Queue)
	}
}

// kueue is R12.
func (l *lint) kueue() {
	l.owners(func(o *owner) {
		at, found := o.kueueAt()
		if !found {
			return
		}
		if gang := l.external(o); gang != nil && len(gang.owners()) > 1 {
			l.refuse(o.String(), at, "Kueue admits the %d owners of %s one by one and may hold quota for a part of it for ever; take the label away", len(gang.owners()), gang.nameOf())
			return
		}
		l.warn(o.String(), at, "Kueue and KAI both keep account of quota here; let one of them do it: limits of -1 in the KAI queue, or a large quota in Kueue")
	})
}

func (o *owner) kueueAt() (string, bool) {
	at := fmt.Sprintf("metadata.labels[%s]", LabelKueueQueue)
	if _, found := o.meta.Labels[LabelKueueQueue]; found {
		return at, true
	}
	for _, g := range o.groups {
		if _, found := g.template.Labels[LabelKueueQueue]; found {
			return g.path(at), true
		}
	}
	return "", false
}

func annotationAt(key string) string { return fmt.Sprintf("metadata.annotations[%s]", key) }
