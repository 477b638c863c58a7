package kai

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

func jobSetGangs(features Features, o *owner) []Gang {
	switch features.JobSet {
	case JobSetNone:
		var out []Gang
		for _, g := range o.groups {
			out = append(out, perPod(o, g))
		}
		return out
	case JobSetTree:
		return []Gang{jobSetTree(features, o)}
	default:
		return jobSetFlat(features, o)
	}
}

func isInOrder(o *owner) bool {
	policy := o.jobSet.Spec.StartupPolicy
	// JobSet's webhook writes AnyOrder where there is none, before KAI sees it.
	return policy != nil && policy.StartupPolicyOrder == v1alpha2.InOrder
}

// jobSetFlat is 0.13 to 0.15: one PodGroup, or one for each replicatedJob where they start in order.
func jobSetFlat(features Features, o *owner) []Gang {
	var out []Gang
	if isInOrder(o) {
		for _, g := range o.groups {
			out = append(out, Gang{
				Name: podGroupPrefix + o.meta.Name + "-<uid>-" + g.name, Count: 1,
				Min: flatMinimum(features, o, g), Pods: g.pods, members: []member{{o, g}},
			})
		}
	} else {
		gang := made(o, o.meta.Name)
		gang.Min = flatMinimum(features, o, o.groups...)
		out = append(out, gang)
	}
	if features.JobSetMinMember == UnitPods {
		for i := range out {
			out[i].override(o.meta.Annotations, features.JobSet == JobSetFlatMin1)
		}
	}
	return out
}

// flatMinimum is all pods. A number of 0 counts as 1, so that a gang with a replicatedJob of no replicas waits for pods that are never made.
func flatMinimum(features Features, o *owner, groups ...*group) int32 {
	if features.JobSet == JobSetFlatMin1 {
		return 1
	}
	sum := int32(0)
	for _, g := range groups {
		replicas := o.jobSet.Spec.ReplicatedJobs[g.index].Replicas
		sum += max(replicas, 1) * max(podsOf(g.job), 1)
	}
	return max(sum, 1)
}

// jobSetTree is 0.16 and later: a parent for each replicatedJob, and a leaf for each of its Jobs.
func jobSetTree(features Features, o *owner) Gang {
	gang := made(o, o.meta.Name)
	jobs := o.jobSet.Spec.ReplicatedJobs
	gang.MinSubGroup = int32(len(jobs))
	if isInOrder(o) {
		gang.MinSubGroup = 1
	}
	override, err := minMember(o.meta.Annotations)
	switch {
	case err != nil:
		gang.breaks(RuleMinMember, err.Error())
	case o.meta.Annotations[AnnotationMinMember] != "" && override < 1:
		gang.breaks(RuleMinMember, tooSmall(override))
	case override > 0:
		gang.MinSubGroup = min(override, int32(len(jobs)))
	}
	for i := range jobs {
		gang.addReplicatedJob(&jobs[i])
	}
	gang.breaks(RuleGroupName, brokenTree(features, gang.SubGroups))
	gang.Min = required(gang.SubGroups, []string{""}, gang.MinSubGroup)
	return gang
}

func (g *Gang) addReplicatedJob(job *v1alpha2.ReplicatedJob) {
	// Only parallelism counts: completions are not looked at.
	minimum := parallelism(&job.Template.Spec)
	override, err := minMember(job.Template.Annotations)
	switch {
	case err != nil:
		g.breaks(RuleMinMember, err.Error())
	case job.Template.Annotations[AnnotationMinMember] != "" && override < 1:
		g.breaks(RuleMinMember, fmt.Sprintf("replicatedJob %q: %s", job.Name, tooSmall(override)))
	case override > 0:
		minimum = override
	}
	g.SubGroups = append(g.SubGroups, SubGroup{Name: job.Name, MinSubGroup: job.Replicas})
	if job.Replicas == 0 {
		g.breaks(RuleReplicas, fmt.Sprintf("replicatedJob %q has no replicas, so its subgroup has no children, which the webhook refuses", job.Name))
	}
	for i := range job.Replicas {
		g.SubGroups = append(g.SubGroups, SubGroup{
			Name: jobLeaf(job.Name, i), Parent: job.Name, Min: minimum,
			Pods: podsOf(&job.Template.Spec), Topology: constraint(job.Template.Annotations),
		})
	}
}

// jobLeaf is the subgroup of one Job.
func jobLeaf(replicatedJob string, index int32) string {
	return fmt.Sprintf("%s-replica-%d", replicatedJob, index)
}

// brokenTree says why the PodGroup of a tree, or the label on its pods, is refused.
func brokenTree(features Features, subGroups []SubGroup) string {
	names := map[string]bool{}
	for _, sub := range subGroups {
		switch {
		case names[sub.Name]:
			return fmt.Sprintf("two subgroups are called %q, which the webhook refuses", sub.Name)
		case len(sub.Name) > validation.LabelValueMaxLength:
			return fmt.Sprintf("subgroup %q has %d characters; as a label value of its pods it may have %d", sub.Name, len(sub.Name), validation.LabelValueMaxLength)
		case features.SubGroupNamePattern && checkName("", sub.Name, validation.IsDNS1123Label) != nil:
			return fmt.Sprintf("subgroup %q is no DNS label, which KAI requires since 0.15", sub.Name)
		}
		names[sub.Name] = true
	}
	return ""
}
