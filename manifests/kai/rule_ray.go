package kai

import (
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
)

// submission is R5.
func (l *lint) submission() {
	const at = "spec.submissionMode"
	l.owners(func(o *owner) {
		if o.rayJob == nil || o.ray == nil {
			return
		}
		switch {
		case o.rayJob.Spec.SubmissionMode == rayv1.SidecarMode:
			l.warn(o.String(), at, "SidecarMode: KubeRay does not make the head again once it ran, so an eviction by KAI ends the RayJob; use HTTPMode to survive one")
		case !isK8sJobMode(o.rayJob):
		case !l.submitterUsesKAI(o):
			l.warn(o.String(), at, "K8sJobMode: KubeRay's batch scheduler plugin for KAI refuses it where that is on; use HTTPMode")
		case l.submitterIsOptional(o):
		case l.features.RaySubGroups || l.external(o) != nil:
			l.refuse(o.String(), at, "K8sJobMode, which is the default: the submitter's pod belongs to no subgroup and is never scheduled; use HTTPMode, "+
				"or in a PodGroup of your own give it a subgroup with minMember 0")
		}
	})
}

func (l *lint) submitterUsesKAI(o *owner) bool {
	last := o.groups[len(o.groups)-1]
	return last.name == submitter && last.usesKAI()
}

func (l *lint) submitterIsOptional(o *owner) bool {
	gang := l.external(o)
	return gang != nil && gang.optional(member{o, o.groups[len(o.groups)-1]})
}

// autoscaling is R7.
func (l *lint) autoscaling() {
	l.owners(func(o *owner) {
		if o.ray == nil || !or(o.ray.EnableInTreeAutoscaling, false) {
			return
		}
		gang := l.external(o)
		for _, g := range o.groups {
			if g.worker == nil {
				continue
			}
			at := strings.TrimSuffix(g.field, ".template") + ".minReplicas"
			minimum := or(g.worker.MinReplicas, 0)
			switch {
			case gang == nil && minimum == 0:
				l.refuse(o.String(), at, "0 with the autoscaler on: the gang's minimum is whatever the autoscaler asks for, and when that does not fit KAI "+
					"deletes the whole cluster, its head too, after the grace period; write at least 1, or set enableInTreeAutoscaling: false")
			case gang != nil && gang.leafMin(g) > minimum*hosts(g.worker):
				l.refuse(o.String(), at, "%d x %d hosts: the autoscaler may go below the %d pods that subgroup %q of %s needs, and then all of it is deleted; "+
					"lower its minMember or raise minReplicas", minimum, hosts(g.worker), gang.leafMin(g), g.subGroup(), gang.nameOf())
			}
		}
	})
}

// leafMin is the minimum of the subgroup that the pods name.
func (g *Gang) leafMin(group *group) int32 {
	for _, leaf := range g.Leaves() {
		if leaf.Name == group.subGroup() {
			return leaf.Min
		}
	}
	return 0
}

// redisCleanup is H10.
func (l *lint) redisCleanup() {
	l.waiting(func(gang *Gang, m member) {
		if m.owner.ray == nil || m.group.worker != nil || m.group.name != headGroup {
			return
		}
		annotated := m.owner.meta.Annotations["ray.io/ft-enabled"] == "true"
		if m.owner.ray.GcsFaultToleranceOptions == nil && !annotated {
			return
		}
		l.warn(m.owner.String(), "spec.gcsFaultToleranceOptions", "when the cluster is deleted KubeRay's clean-up Job is made from the head's template, waits for a "+
			"gang that is gone, and holds the deletion up for 5 minutes; run the operator with ENABLE_GCS_FT_REDIS_CLEANUP=false, or wait")
	})
}

// brokenReplicas is what the podgrouper or its webhook refuses, and what never adds up.
func (l *lint) brokenReplicas() {
	l.broken()
	for i := range l.gangs {
		gang := &l.gangs[i]
		if gang.External || gang.Broken != "" {
			continue
		}
		for _, m := range gang.members {
			switch {
			case m.group.worker != nil:
				l.neverEnough(m)
			case m.owner.jobSet != nil && gang.Min > gang.Pods && m.group.pods == 0:
				l.refuse(m.owner.String(), fmt.Sprintf("spec.replicatedJobs[%d].replicas", m.group.index),
					"0: KAI %s counts it as 1 and waits for pods that are never made; take the replicatedJob out", l.version)
			}
		}
	}
}

func (l *lint) neverEnough(m member) {
	worker, at := m.group.worker, strings.TrimSuffix(m.group.field, ".template")
	minimum := workerMinimum(worker)
	switch {
	case m.group.pods >= minimum:
	case or(worker.Suspend, false):
		l.refuse(m.owner.String(), at+".suspend", "KAI does not see it and waits for the group's %d pods; take the group out, or write replicas 0", minimum)
	default:
		l.refuse(m.owner.String(), at+".maxReplicas", "%d: KubeRay makes %d pods and KAI waits for %d; raise it, or lower replicas to it",
			or(worker.MaxReplicas, 0), m.group.pods, minimum)
	}
}

// broken is a PodGroup that will not be made, by the rule that is being checked.
func (l *lint) broken() {
	for i := range l.gangs {
		gang := &l.gangs[i]
		if gang.Broken == "" || gang.brokenBy != l.rule || gang.External {
			continue
		}
		l.refuse(gang.Owner, "", "%s, and the pods stay pending; %s", gang.Broken, map[Rule]string{
			RuleGroupName: "rename the group",
			RuleReplicas:  "correct the numbers, or take the group out",
			RuleMinMember: "write a number",
		}[l.rule])
	}
}

// segments is R15.
func (l *lint) segments() {
	l.owners(func(o *owner) {
		if o.kind == "Pod" {
			return
		}
		if size, found := o.meta.Annotations[AnnotationSegmentSize]; found {
			l.warn(o.String(), fmt.Sprintf("metadata.annotations[%s]", AnnotationSegmentSize),
				"%q: has no effect on a %s (kai#1419); make one group for each segment, with a topology of its own", size, o.kind)
		}
	})
}
