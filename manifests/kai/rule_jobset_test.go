package kai_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/manifests/kai"
)

func TestStagesOfAJobSet(t *testing.T) {
	t.Parallel()
	run(t, orderCases())
}

func TestJobsOfAGang(t *testing.T) {
	t.Parallel()
	run(t, jobCases())
}

func dependsOn(status v1alpha2.DependsOnStatus) func(*v1alpha2.JobSet) {
	return trainers(func(job *v1alpha2.ReplicatedJob) {
		job.DependsOn = []v1alpha2.DependsOn{{Name: "rl-head", Status: status}}
	})
}

func inOrder(set *v1alpha2.JobSet) {
	set.Spec.StartupPolicy = &v1alpha2.StartupPolicy{StartupPolicyOrder: v1alpha2.InOrder}
}

// headFirst makes the first replicatedJob the first by name.
func headFirst(set *v1alpha2.JobSet) {
	set.Spec.ReplicatedJobs[0].Name = "a-head"
	if dependencies := set.Spec.ReplicatedJobs[1].DependsOn; len(dependencies) > 0 {
		dependencies[0].Name = "a-head"
	}
}

func orderCases() []violationCase {
	ready, complete := dependsOn(v1alpha2.DependencyReady), dependsOn(v1alpha2.DependencyComplete)
	one, forever := annotated(kai.AnnotationMinMember, "1"), annotated(kai.AnnotationStaleness, "-1s")
	const at, order = "spec.replicatedJobs[1].dependsOn", "spec.startupPolicy.startupPolicyOrder"
	trainerFirst := func(set *v1alpha2.JobSet) { set.Spec.ReplicatedJobs[1].Name = "a-trainer" }
	return []violationCase{
		{rule: "R1", name: "a gang of all pods waits for those that depend on it", version: "0.14.7", mode: kai.GangPerCluster, objects: []any{jobSet(ready)}, object: "JobSet run7", field: at, message: `starts with 6 pods, and only 2 are made before "rl-head" is Ready`},
		{rule: "R1", name: "a gang of the pods that are made at first starts", version: "0.14.7", objects: []any{jobSet(ready, annotated(kai.AnnotationMinMember, "2"))}},
		{rule: "R1", name: "a JobSet that 0.15 makes no gang of may depend", version: "0.15.3", objects: []any{jobSet(ready)}},
		{rule: "R1", name: "a JobSet that 0.15 is told to make a gang of may not", version: "0.15.3", objects: []any{jobSet(ready, annotated(kai.AnnotationMinMember, "6"))}, object: "JobSet run7", field: at, message: "only 2 are made"},
		{rule: "R1", name: "single pods of 0.12 may depend", version: "0.12.23", objects: []any{jobSet(ready)}},
		{rule: "R1", name: "a tree waits for the stage that waits for it", objects: []any{jobSet(ready)}, object: "JobSet run7", field: at, message: `annotate the JobSet with kai.scheduler/batch-min-member: "1", and annotate the JobSet with kai.scheduler/staleness-grace-period: "-1s"`},
		{rule: "R1", name: "a tree whose later stage comes first by name never places the first", objects: []any{jobSet(ready, one, forever, trainerFirst)}, object: "JobSet run7", field: at, message: `rename "a-trainer" so that it sorts behind`},
		{rule: "R1", name: "a tree whose later stage is missing for long is evicted", objects: []any{jobSet(ready, one, headFirst)}, object: "JobSet run7", field: at, message: `kai.scheduler/staleness-grace-period: "-1s"`},
		{rule: "R1", name: "a tree with one required subgroup, the right name and patience starts", objects: []any{jobSet(ready, one, forever, headFirst)}},
		{rule: "R1", name: "before 0.17 patience is a flag of the scheduler", version: "0.16.8", objects: []any{jobSet(ready, one, headFirst)}, object: "JobSet run7", field: at, message: "--default-staleness-grace-period", warning: true},
		{rule: "R1", name: "nothing helps a stage that waits for another to complete", objects: []any{jobSet(complete, one, forever, headFirst)}, object: "JobSet run7", field: at, message: `"rl-trainer" never starts, whatever the annotations`},
		{rule: "R2", name: "stages are no gang", mode: kai.GangPerCluster, objects: []any{jobSet(inOrder)}, object: "JobSet run7", field: order, message: "makes no gang of it"},
		{rule: "R2", name: "before 0.16 stages are no gang either", version: "0.14.7", mode: kai.GangPerCluster, objects: []any{jobSet(inOrder)}, object: "JobSet run7", field: order, message: "stage by stage"},
		{rule: "R2", name: "before 0.16 stages without a gang start", version: "0.15.3", mode: kai.GangNone, objects: []any{jobSet(inOrder)}},
		{rule: "R2", name: "the first stage must come first by name and be waited for", mode: kai.GangNone, objects: []any{jobSet(inOrder)}, object: "JobSet run7", field: order, message: `rename "driver"`},
		{rule: "R2", name: "stages with the right name and patience start", mode: kai.GangNone, objects: []any{jobSet(inOrder, headFirst, forever)}},
		{rule: "R2", name: "before 0.17 patience is a flag of the scheduler", version: "0.16.8", mode: kai.GangNone, objects: []any{jobSet(inOrder, headFirst)}, object: "JobSet run7", field: order, message: "evicts the first stage", warning: true},
		{rule: "R10", name: "a suspended JobSet is fine", mode: kai.GangPerCluster, objects: []any{jobSet(func(set *v1alpha2.JobSet) { set.Spec.Suspend = ptr.To(true) })}},
		{rule: "R13", name: "a part of the replicatedJobs", mode: kai.GangPerCluster, objects: []any{jobSet(annotated(kai.AnnotationMinMember, "2"))}, object: "JobSet run7", field: "metadata.annotations[kai.scheduler/batch-min-member]", message: "2 of 3 replicatedJobs"},
		{rule: "R15", name: "segments of a JobSet", objects: []any{jobSet(annotated(kai.AnnotationSegmentSize, "2"))}, object: "JobSet run7", field: "metadata.annotations[kai.scheduler/segment-size]", message: "has no effect on a JobSet", warning: true},
	}
}

func jobCases() []violationCase {
	completions := func(n int32) func(*v1alpha2.JobSet) {
		return trainers(func(job *v1alpha2.ReplicatedJob) { job.Template.Spec.Completions = &n })
	}
	backoff := func(limit *int32) func(*v1alpha2.JobSet) {
		return trainers(func(job *v1alpha2.ReplicatedJob) { job.Template.Spec.BackoffLimit = limit })
	}
	ignore := trainers(func(job *v1alpha2.ReplicatedJob) {
		job.Template.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore}}}
	})
	gate := trainers(func(job *v1alpha2.ReplicatedJob) {
		job.Template.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
	})
	templateMin := trainers(func(job *v1alpha2.ReplicatedJob) {
		job.Template.Annotations = map[string]string{kai.AnnotationMinMember: "3"}
	})
	exclusive := annotated(v1alpha2.ExclusiveKey, "example.com/rack")
	exclusiveTrainers := trainers(func(job *v1alpha2.ReplicatedJob) {
		job.Template.Annotations = map[string]string{v1alpha2.ExclusiveKey: "example.com/rack"}
	})
	apart := trainers(func(job *v1alpha2.ReplicatedJob) {
		job.Template.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}},
		}}
	})
	initContainer := trainers(func(job *v1alpha2.ReplicatedJob) {
		job.Template.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "wait-for-head"}}
	})
	untilAllEnd := func(set *v1alpha2.JobSet) { set.Spec.SuccessPolicy = nil }
	untilOneEnds := func(set *v1alpha2.JobSet) { set.Spec.SuccessPolicy.Operator = v1alpha2.OperatorAny }
	const trainer, first = "spec.replicatedJobs[1].template.spec", "spec.replicatedJobs[0].template.spec"
	exclusiveAt := "metadata.annotations[" + v1alpha2.ExclusiveKey + "]"
	gangOfThree := func(job *batchv1.Job) { job.Annotations[kai.AnnotationMinMember] = "3" }
	return []violationCase{
		{rule: "R3", name: "fewer completions than a leaf waits for", objects: []any{jobSet(completions(3))}, object: "JobSet run7", field: trainer + ".completions", message: "waits for parallelism (4) pods, and only 3 are ever made"},
		{rule: "R3", name: "more completions strand the last ones", version: "0.14.7", objects: []any{jobSet(completions(5))}, object: "JobSet run7", field: trainer + ".completions", message: "after the first 4 pods"},
		{rule: "R3", name: "before 0.16 fewer completions are counted", version: "0.14.7", objects: []any{jobSet(completions(3))}},
		{rule: "R3", name: "the template says how many are needed", objects: []any{jobSet(completions(3), templateMin)}},
		{rule: "R3", name: "equal numbers", objects: []any{jobSet()}},
		{rule: "R4", name: "pods that are replaced", objects: []any{jobSet(backoff(ptr.To[int32](3)))}, object: "JobSet run7", field: trainer + ".backoffLimit", message: "3: a pod that replaces a failed one"},
		{rule: "R4", name: "pods that are replaced by default", objects: []any{jobSet(backoff(nil))}, object: "JobSet run7", field: trainer + ".backoffLimit", message: "6: a pod"},
		{rule: "R4", name: "pods that are replaced after a disruption", objects: []any{jobSet(ignore)}, object: "JobSet run7", field: trainer + ".podFailurePolicy.rules[0].action", message: "write FailJob"},
		{rule: "R4", name: "single pods may be replaced", version: "0.12.23", objects: []any{jobSet(backoff(nil))}},
		{rule: "R6", name: "init containers are harmless", objects: []any{jobSet(initContainer)}},
		{rule: "R8", name: "pods without GPUs are fine beside those with", objects: []any{jobSet(trainers(func(job *v1alpha2.ReplicatedJob) { job.Template.Spec.Template = gpuTemplate("8") }))}},
		{rule: "R9", name: "a gate on one group", objects: []any{jobSet(gate)}, object: "JobSet run7", field: trainer + ".template.spec.schedulingGates[0]", message: `"example.com/wait": all 6 pods of the gang wait`},
		{rule: "R9", name: "a gate on single pods is their own matter", version: "0.12.23", objects: []any{jobSet(gate)}},
		{rule: "R11", name: "exclusive placement of the JobSet", objects: []any{jobSet(exclusive)}, object: "JobSet run7", field: exclusiveAt, message: `pods of "rl-trainer" behind the first`},
		{rule: "R11", name: "exclusive placement of a replicatedJob", objects: []any{jobSet(exclusiveTrainers)}, object: "JobSet run7", field: "spec.replicatedJobs[1].template." + exclusiveAt, message: "the gang waits for them"},
		{rule: "R11", name: "exclusive placement by node selector", objects: []any{jobSet(exclusive, annotated(v1alpha2.NodeSelectorStrategyKey, ""))}},
		{rule: "R11", name: "exclusive placement of single pods", version: "0.12.23", objects: []any{jobSet(exclusive)}},
		{rule: "R11", name: "pods that keep apart", objects: []any{jobSet(apart)}, object: "JobSet run7", field: trainer + ".template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution", message: "kai#2115", warning: true},
		{rule: "H4", name: "pods that end one by one", version: "0.16.2", objects: []any{jobSet(untilAllEnd)}, object: "JobSet run7", field: first, message: "counts a pod that succeeded as missing"},
		{rule: "H4", name: "pods that end one by one, patiently", objects: []any{jobSet(untilAllEnd, annotated(kai.AnnotationStaleness, "-1s"))}},
		{rule: "H4", name: "pods that end one by one, with some patience", objects: []any{jobSet(untilAllEnd, annotated(kai.AnnotationStaleness, "15m"))}, object: "JobSet run7", field: first, message: "0.17.0", warning: true},
		{rule: "H4", name: "before 0.16.2 pods that succeeded count", version: "0.16.1", objects: []any{jobSet(untilAllEnd)}},
		{rule: "H4", name: "after 0.17.0 they count again", version: "0.17.1", objects: []any{jobSet(untilAllEnd)}},
		{rule: "H4", name: "all end with the driver", objects: []any{jobSet()}},
		{rule: "H4", name: "all end with the first that does", objects: []any{jobSet(untilOneEnds)}},
		{rule: "H4", name: "a Job whose pods end one by one", objects: []any{job("batch", 3, gangOfThree)}, object: "Job batch", field: "spec", message: `kai.scheduler/staleness-grace-period: "-1s"`},
		{rule: "H4", name: "a Job before 0.17 has no patience of its own", version: "0.16.8", objects: []any{job("batch", 3, gangOfThree)}, object: "Job batch", field: "spec", message: "successPolicy"},
		{rule: kai.RuleRuntimeClass, name: "whole GPUs before 0.16", version: "0.15.3", objects: []any{jobSet(trainers(func(job *v1alpha2.ReplicatedJob) { job.Template.Spec.Template = gpuTemplate("8") }))}, object: "JobSet run7", field: trainer + ".template.spec.runtimeClassName", message: "sets it to nvidia", warning: true},
		{rule: kai.RuleRuntimeClass, name: "no GPUs before 0.16", version: "0.15.3", objects: []any{jobSet()}},
	}
}
