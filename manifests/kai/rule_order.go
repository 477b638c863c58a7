package kai

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

const waitInstead = "start all pods at once and let an init container wait for what it needs"

// dependsOn is R1.
func (l *lint) dependsOn() {
	for i := range l.gangs {
		gang := &l.gangs[i]
		for _, m := range gang.members {
			if job := m.replicatedJob(); job != nil && len(job.DependsOn) > 0 && !gang.optional(m) {
				l.dependent(gang, m, job)
			}
		}
	}
}

func (m member) replicatedJob() *v1alpha2.ReplicatedJob {
	if m.owner.jobSet == nil {
		return nil
	}
	return &m.owner.jobSet.Spec.ReplicatedJobs[m.group.index]
}

func (l *lint) dependent(gang *Gang, m member, job *v1alpha2.ReplicatedJob) {
	at := fmt.Sprintf("spec.replicatedJobs[%d].dependsOn", m.group.index)
	early := l.earlyPods(m.owner)
	switch {
	case !gang.External && l.features.JobSet == JobSetTree:
		l.dependentInTree(m.owner, at, job)
	case gang.Min <= early: // enough pods are made at first
	default:
		l.refuse(m.owner.String(), at, "the gang starts with %d pods, and only %d are made before %q is %s; %s",
			gang.Min, early, job.DependsOn[0].Name, job.DependsOn[0].Status, waitInstead)
	}
}

// earlyPods are those that JobSet makes at once.
func (l *lint) earlyPods(o *owner) int32 {
	sum := int32(0)
	for i := range o.jobSet.Spec.ReplicatedJobs {
		if len(o.jobSet.Spec.ReplicatedJobs[i].DependsOn) == 0 {
			sum += o.groups[i].pods
		}
	}
	return sum
}

func (l *lint) dependentInTree(o *owner, at string, job *v1alpha2.ReplicatedJob) {
	for _, dependency := range job.DependsOn {
		if dependency.Status == v1alpha2.DependencyComplete {
			l.refuse(o.String(), at, "once %q has completed its subgroup is unmet again, comes first, and has no pods to place: %q never starts, "+
				"whatever the annotations; make it a JobSet of its own, or %s", dependency.Name, job.Name, waitInstead)
			return
		}
	}
	if missing := l.stagesNeed(o, firstCreated(o)); len(missing) > 0 {
		l.refuse(o.String(), at, "%q is made once %q is ready, and the gang waits for it. Either %s; or %s",
			job.Name, job.DependsOn[0].Name, waitInstead, strings.Join(missing, ", and "))
		return
	}
	l.stagesNote(o, at)
}

// firstCreated are the replicatedJobs that wait for nothing.
func firstCreated(o *owner) map[string]bool {
	out := map[string]bool{}
	for _, job := range o.jobSet.Spec.ReplicatedJobs {
		if len(job.DependsOn) == 0 {
			out[job.Name] = true
		}
	}
	return out
}

// stagesNeed is what is missing for a tree of subgroups to start stage by stage: one required subgroup, which must come first by name
// because KAI breaks ties by name, and no limit to how long the later ones may be missing, because staleness counts all of them.
func (l *lint) stagesNeed(o *owner, early map[string]bool) []string {
	var missing []string
	if value, err := minMember(o.meta.Annotations); err != nil || (value != 1 && !isInOrder(o)) {
		missing = append(missing, fmt.Sprintf("annotate the JobSet with %s: \"1\"", AnnotationMinMember))
	}
	names := map[string]bool{}
	for _, job := range o.jobSet.Spec.ReplicatedJobs {
		names[job.Name] = true
	}
	if first := sortedKeys(names)[0]; !early[first] {
		missing = append(missing, fmt.Sprintf("rename %q so that it sorts behind a replicatedJob that is made at first", first))
	}
	if l.features.StalenessGracePeriod && !never(o.staleness(l.features)) {
		missing = append(missing, fmt.Sprintf("annotate the JobSet with %s: \"-1s\"", AnnotationStaleness))
	}
	return missing
}

func (l *lint) stagesNote(o *owner, at string) {
	if l.features.StalenessGracePeriod {
		return
	}
	l.warn(o.String(), at, "KAI %s evicts the first stage once the next has been missing for the scheduler's --default-staleness-grace-period "+
		"(60 s by default); set it to -1s, or %s", l.version, waitInstead)
}

// never tells whether a grace period is negative, which is for ever.
func never(grace string) bool {
	d, err := time.ParseDuration(grace)
	return err == nil && d < 0
}

// inOrder is R2.
func (l *lint) inOrder() {
	const at = "spec.startupPolicy.startupPolicyOrder"
	l.owners(func(o *owner) {
		if o.jobSet == nil || !isInOrder(o) || l.features.JobSet == JobSetNone {
			return
		}
		if gang := l.external(o); gang != nil {
			l.refuse(o.String(), at, "InOrder: later replicatedJobs are not made before the earlier are ready, and %s waits for all; %s", gang.nameOf(), waitInstead)
			return
		}
		if l.mode != GangNone {
			l.refuse(o.String(), at, "InOrder: KAI %s starts the JobSet stage by stage and makes no gang of it; %s, or use gang: none", l.version, waitInstead)
			return
		}
		if l.features.JobSet != JobSetTree {
			return // a PodGroup for each stage
		}
		if missing := l.stagesNeed(o, map[string]bool{o.groups[0].name: true}); len(missing) > 0 {
			l.refuse(o.String(), at, "InOrder: KAI takes the first replicatedJob by name and evicts it when the next is missing for long. Either %s; or %s",
				waitInstead, strings.Join(missing, ", and "))
			return
		}
		l.stagesNote(o, at)
	})
}
