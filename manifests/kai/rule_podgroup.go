package kai

import "fmt"

func (p *PodGroup) String() string { return kindPodGroup + " " + p.Metadata.Name }

// podGroups says what the CRD and the webhook would.
func (l *lint) podGroups() {
	for _, podGroup := range l.objects.podGroups {
		for _, problem := range podGroup.problems(l.version) {
			l.refuse(podGroup.String(), problem.field, "%s", problem.message)
		}
		if podGroup.Spec.Queue == "" {
			l.refuse(podGroup.String(), "spec.queue", "missing: a gang without a queue is never scheduled; name a leaf queue")
		}
		if podGroup.Spec.MarkUnschedulable != nil {
			l.warn(podGroup.String(), "spec.markUnschedulable", "belongs to the scheduler; leave it out")
		}
	}
}

// partial is R13.
func (l *lint) partial() {
	const why = "KAI picks them by how full they are and by name and never tries others where those do not fit (kai#2120), and the rest counts as missing"
	for _, podGroup := range l.objects.podGroups {
		groups := podGroup.Spec.SubGroups
		if need, all := or(podGroup.Spec.MinSubGroup, 0), children(groups, ""); need > 0 && need != all {
			l.refuse(podGroup.String(), "spec.minSubGroup", "%d of %d subgroups: %s; write %d", need, all, why, all)
		}
		for i, sub := range groups {
			if all := children(groups, sub.Name); sub.MinSubGroup != nil && all > 0 && *sub.MinSubGroup != all {
				l.refuse(podGroup.String(), fmt.Sprintf("spec.subGroups[%d].minSubGroup", i), "%d of %d subgroups: %s; write %d", *sub.MinSubGroup, all, why, all)
			}
		}
	}
	if l.features.JobSet != JobSetTree || l.mode == GangNone {
		return
	}
	l.owners(func(o *owner) {
		if o.jobSet == nil || isInOrder(o) || l.external(o) != nil || len(firstCreated(o)) < len(o.groups) {
			return // R1 and R2 say more
		}
		if need, err := minMember(o.meta.Annotations); err == nil && need > 0 && int(need) < len(o.groups) {
			l.refuse(o.String(), annotationAt(AnnotationMinMember), "%d of %d replicatedJobs: %s; leave it out", need, len(o.groups), why)
		}
	})
}

// uniqueNames is H1.
func (l *lint) uniqueNames() {
	first := map[string]*PodGroup{}
	for _, podGroup := range l.objects.podGroups {
		other, found := first[podGroup.Metadata.Name]
		if !found {
			first[podGroup.Metadata.Name] = podGroup
			continue
		}
		l.refuse(podGroup.String(), "metadata.name", "namespaces %q and %q have a PodGroup of this name, and the scheduler takes them for one (kai#2095); "+
			"put the namespace into the name", other.Metadata.Namespace, podGroup.Metadata.Namespace)
	}
}

// podGroupOwners is H2.
func (l *lint) podGroupOwners() {
	for _, podGroup := range l.objects.podGroups {
		if n := len(podGroup.Metadata.OwnerReferences); n > 1 {
			l.warn(podGroup.String(), "metadata.ownerReferences", "%d owners: it stays until the last of them is gone; have none and delete it by name", n)
		}
	}
}

// staleness is H3.
func (l *lint) staleness() {
	for _, podGroup := range l.objects.podGroups {
		if _, found := podGroup.Metadata.Annotations[AnnotationStaleness]; found {
			l.warn(podGroup.String(), annotationAt(AnnotationStaleness), "the scheduler does not read it here; write spec.stalenessGracePeriod")
		}
	}
	for i := range l.gangs {
		gang := &l.gangs[i]
		if !gang.External || !gang.IsGang() || gang.staleness != "" {
			continue
		}
		wayOut := "write one, 15m for example, or -1s for never"
		if !l.features.StalenessGracePeriod {
			wayOut = fmt.Sprintf("KAI %s has only the scheduler's flag --default-staleness-grace-period", l.version)
		}
		l.warn(gang.nameOf(), "spec.stalenessGracePeriod", "missing: a pod that is lost for more than 60 s, with its node for example, takes all %d pods down; %s", gang.Pods, wayOut)
	}
}

// returningPods is H9.
func (l *lint) returningPods() {
	if !l.features.SkipPodGrouper { // it came with the same release
		return
	}
	for _, podGroup := range l.objects.podGroups {
		required := map[string]bool{"": podGroup.Spec.TopologyConstraint != nil && podGroup.Spec.TopologyConstraint.Required != ""}
		groups := podGroup.Spec.SubGroups
		for _, sub := range groups {
			required[sub.Name] = sub.TopologyConstraint != nil && sub.TopologyConstraint.Required != "" && children(groups, sub.Name) > 0
		}
		for i, sub := range groups {
			if children(groups, sub.Name) == 0 && or(sub.MinMember, 0) == 1 && (required[""] || required[sub.Parent]) {
				l.warn(podGroup.String(), fmt.Sprintf("spec.subGroups[%d]", i), "if the one pod of %q is made again while the rest runs, it may be placed outside the required domain; "+
					"restart all of it then, or give its subgroup the constraint", sub.Name)
			}
		}
	}
}
