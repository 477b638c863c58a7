package kai

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// completions is R3.
func (l *lint) completions() {
	l.waiting(func(gang *Gang, m member) {
		job := m.group.job
		if job == nil || job.Completions == nil || gang.optional(m) || l.hasOwnMinimum(gang, m) {
			return
		}
		completions, parallel := *job.Completions, parallelism(job)
		at := strings.TrimSuffix(m.group.field, ".template") + ".completions"
		const wayOut = "write the same number in both"
		switch {
		case completions < parallel && !gang.External && l.features.JobSet == JobSetTree && m.owner.jobSet != nil:
			l.refuse(m.owner.String(), at, "%d: KAI waits for parallelism (%d) pods, and only %d are ever made; %s", completions, parallel, completions, wayOut)
		case completions > parallel:
			l.refuse(m.owner.String(), at, "%d: after the first %d pods the rest waits for a gang that has ended (kai#1347); %s", completions, parallel, wayOut)
		}
	})
}

// hasOwnMinimum tells whether the template says how many pods of each Job are needed.
func (l *lint) hasOwnMinimum(gang *Gang, m member) bool {
	if gang.External || !l.features.TemplateMinMember || m.owner.jobSet == nil {
		return false
	}
	value, err := minMember(m.replicatedJob().Template.Annotations)
	return err == nil && value > 0
}

const defaultBackoffLimit = 6 // of a batch Job

// retries is R4.
func (l *lint) retries() {
	l.waiting(func(gang *Gang, m member) {
		job := m.group.job
		if job == nil || gang.optional(m) {
			return
		}
		at := strings.TrimSuffix(m.group.field, ".template")
		const replaced = "a pod that replaces a failed one waits until the whole gang is there, and pods that have ended do not come back"
		if limit := or(job.BackoffLimit, defaultBackoffLimit); limit != 0 {
			l.refuse(m.owner.String(), at+".backoffLimit", "%d: %s; write 0 and restart all of it: failurePolicy.maxRestarts of a JobSet, or minMember 0 in a PodGroup of your own",
				limit, replaced)
		}
		if job.PodFailurePolicy == nil {
			return
		}
		for i, rule := range job.PodFailurePolicy.Rules {
			if rule.Action == batchv1.PodFailurePolicyActionIgnore {
				l.refuse(m.owner.String(), fmt.Sprintf("%s.podFailurePolicy.rules[%d].action", at, i), "Ignore: %s; write FailJob", replaced)
			}
		}
	})
}

// gates is R9.
func (l *lint) gates() {
	l.waiting(func(gang *Gang, m member) {
		for i, gate := range m.group.template.Spec.SchedulingGates {
			l.refuse(m.owner.String(), m.group.path(fmt.Sprintf("spec.schedulingGates[%d]", i)),
				"%q: all %d pods of the gang wait until it is taken away; leave it out", gate.Name, gang.Pods)
		}
	})
}

// exclusive is R11.
func (l *lint) exclusive() {
	l.waiting(func(gang *Gang, m member) {
		l.exclusiveTopology(m)
		l.antiAffinity(m)
	})
}

func (l *lint) exclusiveTopology(m member) {
	job := m.replicatedJob()
	if job == nil || parallelism(&job.Template.Spec) < 2 {
		return
	}
	places := []struct {
		at          string
		annotations map[string]string
	}{
		{"metadata.annotations", m.owner.meta.Annotations},
		{fmt.Sprintf("spec.replicatedJobs[%d].template.metadata.annotations", m.group.index), job.Template.Annotations},
	}
	for _, place := range places {
		_, exclusive := place.annotations[v1alpha2.ExclusiveKey]
		_, selector := place.annotations[v1alpha2.NodeSelectorStrategyKey]
		if exclusive && !selector {
			l.refuse(m.owner.String(), fmt.Sprintf("%s[%s]", place.at, v1alpha2.ExclusiveKey),
				"JobSet makes the pods of %q behind the first only once that has a node, and the gang waits for them (jobset#458); add annotation %s, or use a KAI topology instead",
				m.group.name, v1alpha2.NodeSelectorStrategyKey)
		}
	}
}

// antiAffinity keeps the node of a pod that is going away, up to 0.17.0.
func (l *lint) antiAffinity(m member) {
	affinity := m.group.template.Spec.Affinity
	if affinity == nil || affinity.PodAntiAffinity == nil || !from(oldestMinor, 0).until(17, 1).has(l.version) {
		return
	}
	if len(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		l.warn(m.owner.String(), m.group.path("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"),
			"KAI %s cannot take nodes from others for such pods: those that go away still count (kai#2115); use a topology instead", l.version)
	}
}

// earlyFinishers is H4.
func (l *lint) earlyFinishers() {
	if !l.features.TerminalPodsHidden {
		return
	}
	l.waiting(func(gang *Gang, m member) {
		if m.group.job == nil || gang.optional(m) || never(gang.staleness) || !endsBeforeOthers(gang, m) {
			return
		}
		message := fmt.Sprintf("KAI %s counts a pod that succeeded as missing and deletes the rest of the gang when the grace period is over (60 s by default, kai#1968); %s",
			l.version, l.endTogether(gang))
		at := strings.TrimSuffix(m.group.field, ".template")
		if gang.staleness != "" {
			l.warn(m.owner.String(), at, "%s", message)
			return
		}
		l.refuse(m.owner.String(), at, "%s", message)
	})
}

// endsBeforeOthers tells whether the pods may succeed while others of their gang go on: not if the success of one pod ends the JobSet.
func endsBeforeOthers(gang *Gang, m member) bool {
	if m.owner.jobSet == nil {
		return gang.Pods > 1
	}
	if len(gang.owners()) > 1 {
		return isTarget(m) // the JobSet ends, the others do not
	}
	return isTarget(m) && successPods(m.owner) > 1
}

// isTarget tells whether the JobSet counts the success of the group.
func isTarget(m member) bool {
	policy := m.owner.jobSet.Spec.SuccessPolicy
	if policy == nil || len(policy.TargetReplicatedJobs) == 0 {
		return true
	}
	for _, name := range policy.TargetReplicatedJobs {
		if name == m.group.name {
			return true
		}
	}
	return false
}

// successPods is how many pods must succeed before the JobSet does.
func successPods(o *owner) int32 {
	policy := o.jobSet.Spec.SuccessPolicy
	if policy != nil && policy.Operator == v1alpha2.OperatorAny {
		return 1
	}
	sum := int32(0)
	for _, g := range o.groups {
		if isTarget(member{o, g}) {
			sum += g.pods
		}
	}
	return sum
}

func (l *lint) endTogether(gang *Gang) string {
	switch {
	case gang.External && l.features.StalenessGracePeriod:
		return `write minMember 0 for its subgroup, or stalenessGracePeriod "-1s"`
	case gang.External:
		return "write minMember 0 for its subgroup"
	case l.features.StalenessGracePeriod:
		return fmt.Sprintf(`annotate the owner with %s: "-1s", or let the success of one pod end it: successPolicy with the driver as its target`, AnnotationStaleness)
	default:
		return "let the success of one pod end it: successPolicy with the driver as its target"
	}
}

// runtimeClass warns once for all pods.
func (l *lint) runtimeClass() {
	if !l.features.RuntimeClassInjected {
		return
	}
	for _, o := range l.objects.owners {
		for _, g := range o.groups {
			if g.usesKAI() && g.template.Spec.RuntimeClassName == nil && requests(&g.template.Spec)[resourceGPU] > 0 {
				l.warn(o.String(), g.path("spec.runtimeClassName"), "KAI %s sets it to nvidia on pods that ask for whole GPUs, and where no such RuntimeClass "+
					"exists they are refused; make one, or install KAI with admission.gpuPodRuntimeClassName=\"\"", l.version)
				return
			}
		}
	}
}

// requests of a pod in the units of a queue. Init containers that end count by the largest, sidecars stay.
func requests(spec *corev1.PodSpec) map[corev1.ResourceName]float64 {
	out := map[corev1.ResourceName]float64{}
	for _, name := range shared {
		var containers, sidecars, init float64
		for i := range spec.InitContainers {
			container := &spec.InitContainers[i]
			if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				sidecars += request(container, name)
				continue
			}
			init = max(init, sidecars+request(container, name))
		}
		for i := range spec.Containers {
			containers += request(&spec.Containers[i], name)
		}
		out[name] = max(init, containers+sidecars)
	}
	return out
}

// request is the limit where no request is given, as the API server fills it in.
func request(container *corev1.Container, name corev1.ResourceName) float64 {
	if quantity, ok := container.Resources.Requests[name]; ok {
		return amount(name, quantity)
	}
	return amount(name, container.Resources.Limits[name])
}
