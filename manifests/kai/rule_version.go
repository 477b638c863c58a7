package kai

import "fmt"

// tooNew is what the objects ask for and the version does not have.
func (l *lint) tooNew() {
	for i := range l.gangs {
		if gang := &l.gangs[i]; gang.External && !l.features.SkipPodGrouper {
			l.refuse(gang.nameOf(), "", "KAI %s: %s; upgrade, or use gang: cluster", l.version, ErrNoRunGang)
		}
	}
	for _, topology := range l.objects.topologies {
		for i, level := range topology.Spec.Levels {
			if level.Alias != "" && !l.features.TopologyAlias {
				l.refuse(kindTopology+" "+topology.Metadata.Name, fmt.Sprintf("spec.levels[%d].alias", i), "KAI %s has no aliases; upgrade to 0.17 or leave it out", l.version)
			}
		}
	}
	l.owners(func(o *owner) {
		if _, found := o.meta.Annotations[AnnotationStaleness]; found && !l.features.StalenessGracePeriod {
			l.warn(o.String(), annotationAt(AnnotationStaleness), "KAI %s does not read it; upgrade to 0.17, or set the scheduler's flag --default-staleness-grace-period", l.version)
		}
		if o.ray != nil && !l.features.RaySubGroups {
			l.warn(o.String(), "", "KAI %s counts the pods of all groups together, so that a gang may start without a head (kai#924); upgrade to 0.12.12 or newer", l.version)
		}
		l.groupTopology(o)
	})
}

// groupTopology is a constraint on a part of a gang in a version that knows only that of the whole.
func (l *lint) groupTopology(o *owner) {
	for _, g := range o.groups {
		annotations, at, since := g.template.Annotations, g.path(annotationAt(AnnotationTopology)), "0.14"
		known := l.features.RayTopologyPerGroup
		if o.jobSet != nil {
			annotations = o.jobSet.Spec.ReplicatedJobs[g.index].Template.Annotations
			at = fmt.Sprintf("spec.replicatedJobs[%d].template.%s", g.index, annotationAt(AnnotationTopology))
			known, since = l.features.JobSet == JobSetTree, "0.16"
		}
		if constraint(annotations) != nil && !known && (o.jobSet != nil || o.ray != nil) {
			l.refuse(o.String(), at, "KAI %s reads topologies from the %s only; upgrade to %s, or move it there", l.version, o.kind, since)
		}
	}
}

// gangAsked compares what KAI makes with what was asked for.
func (l *lint) gangAsked() {
	var owners []*owner
	l.owners(func(o *owner) { owners = append(owners, o) })
	whole := l.mode == GangPerRun && len(owners) > 1
	if whole {
		l.oneGang(owners)
	}
	for _, o := range owners {
		if gangs := l.podgroupedOf(o); len(gangs) > 0 && !whole {
			l.ownGang(o, gangs)
		}
	}
}

// oneGang wants every owner in the same PodGroup.
func (l *lint) oneGang(owners []*owner) {
	if !l.features.SkipPodGrouper && len(l.objects.podGroups) == 0 {
		l.refuse("the run", "", "KAI %s: %s, and the run has %d; upgrade, or use gang: cluster", l.version, ErrNoRunGang, len(owners))
		return
	}
	var common *Gang
	for _, o := range owners {
		gang := l.external(o)
		switch {
		case gang == nil:
			l.refuse(o.String(), "", "gang: run, and its pods are in no PodGroup among the objects: they start without the rest; make them members")
		case common == nil:
			common = gang
		case gang.Name != common.Name:
			l.refuse(o.String(), "", "gang: run, and its pods are in PodGroup %s, those of others in %s; use one", gang.Name, common.Name)
		}
	}
}

func (l *lint) podgroupedOf(o *owner) []*Gang {
	var out []*Gang
	for i := range l.gangs {
		if gang := &l.gangs[i]; !gang.External && gang.has(o) {
			out = append(out, gang)
		}
	}
	return out
}

// ownGang looks at one owner by itself.
func (l *lint) ownGang(o *owner, gangs []*Gang) {
	gang := gangs[0]
	switch {
	case l.mode == GangNone:
		if gang.IsGang() {
			l.warn(o.String(), "", "gang: none, and KAI %s starts %d of its pods together all the same", l.version, gang.Min)
		}
	case o.jobSet != nil && isInOrder(o): // R2 says more
	case o.total() <= 1 || (len(gangs) == 1 && gang.Count == 1 && gang.Min >= gang.Pods):
	case o.ray != nil:
		l.warn(o.String(), "", "starts with %d of its %d pods, by minReplicas; write minReplicas = replicas to wait for all", gang.Min, gang.Pods)
	default:
		l.refuse(o.String(), "", "KAI %s starts %d of its %d pods without waiting for the others; %s", l.version, min(gang.Min, o.total()), o.total(), l.wayToGang(o))
	}
}

func (l *lint) wayToGang(o *owner) string {
	annotate := fmt.Sprintf("annotate it with %s: \"%d\"", AnnotationMinMember, o.total())
	switch {
	case o.jobSet != nil && l.features.JobSet == JobSetTree:
		return fmt.Sprintf("take annotation %s away from it and from its templates", AnnotationMinMember)
	case o.jobSet != nil && l.features.JobSetMinMember == UnitPods:
		return annotate
	case o.job != nil && l.features.JobMinMember:
		return annotate
	default:
		return "upgrade KAI, or use gang: none"
	}
}

// minMembers looks at what the annotation is taken for.
func (l *lint) minMembers() {
	l.broken()
	l.owners(func(o *owner) {
		value, err := minMember(o.meta.Annotations)
		if _, found := o.meta.Annotations[AnnotationMinMember]; !found || err != nil || l.external(o) != nil {
			value = 0
		}
		at := annotationAt(AnnotationMinMember)
		switch {
		case value == 0:
		case o.jobSet != nil && l.features.JobSetMinMember == UnitNone, o.job != nil && !l.features.JobMinMember:
			l.warn(o.String(), at, "KAI %s does not read it; upgrade to 0.14.1 or newer", l.version)
		case o.jobSet != nil && l.features.JobSetMinMember == UnitReplicatedJobs && int(value) > len(o.groups):
			l.warn(o.String(), at, "%d: counts replicatedJobs since KAI 0.16, of which there are %d, and no longer pods; leave it out to wait for all", value, len(o.groups))
		case o.jobSet != nil && l.features.JobSetMinMember == UnitPods && value > o.total(), o.job != nil && value > o.total():
			l.refuse(o.String(), at, "%d: there are only %d pods, so the gang never starts; write %d", value, o.total(), o.total())
		}
		if o.jobSet != nil && l.external(o) == nil {
			l.templateMinMembers(o)
		}
	})
}

func (l *lint) templateMinMembers(o *owner) {
	for i := range o.jobSet.Spec.ReplicatedJobs {
		job := &o.jobSet.Spec.ReplicatedJobs[i]
		value, err := minMember(job.Template.Annotations)
		at := fmt.Sprintf("spec.replicatedJobs[%d].template.%s", i, annotationAt(AnnotationMinMember))
		switch {
		case err != nil || value == 0:
		case !l.features.TemplateMinMember:
			l.warn(o.String(), at, "KAI %s does not read it here; upgrade to 0.16, or leave it out", l.version)
		case value > podsOf(&job.Template.Spec):
			l.refuse(o.String(), at, "%d: each Job has only %d pods, so the gang never starts; write %d", value, podsOf(&job.Template.Spec), podsOf(&job.Template.Spec))
		}
	}
}
