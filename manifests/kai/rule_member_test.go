package kai_test

import (
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/manifests/kai"
)

func TestMembersOfAPodGroup(t *testing.T) {
	t.Parallel()
	run(t, memberCases(t))
}

const (
	workerTemplate = "spec.workerGroupSpecs[0].template"
	namedAt        = workerTemplate + ".metadata.annotations[pod-group-name]"
	subGroupAt     = workerTemplate + ".metadata.labels[kai.scheduler/subgroup-name]"
)

func memberCases(t *testing.T) []violationCase {
	t.Helper()
	// with is the gang of two with the worker template of the second cluster changed.
	with := func(version string, changes ...func(*corev1.PodTemplateSpec)) []any {
		return gangOfTwo(t, version, func(run *runObjects) {
			for _, change := range changes {
				change(&run.gym.Spec.WorkerGroupSpecs[0].Template)
			}
		})
	}
	annotation := func(key, value string) func(*corev1.PodTemplateSpec) {
		return func(pod *corev1.PodTemplateSpec) { pod.Annotations[key] = value }
	}
	label := func(key, value string) func(*corev1.PodTemplateSpec) {
		return func(pod *corev1.PodTemplateSpec) { pod.Labels[key] = value }
	}
	without := func(key string) func(*corev1.PodTemplateSpec) {
		return func(pod *corev1.PodTemplateSpec) { delete(pod.Annotations, key); delete(pod.Labels, key) }
	}
	change := func(f func(*runObjects)) []any { return gangOfTwo(t, "0.17.0", f) }
	unskippedOwner := func(run *runObjects) { delete(run.gym.Annotations, kai.AnnotationSkipPodGrouper) }
	flat := func(run *runObjects) {
		run.group.Spec.SubGroups, run.group.Spec.MinSubGroup, run.group.Spec.MinMember = nil, nil, ptr.To[int32](7)
	}
	parent := func(run *runObjects) {
		run.group.Spec.SubGroups = append(run.group.Spec.SubGroups, kai.SubGroupSpec{Name: "below", Parent: "gym-workers", MinMember: ptr.To[int32](1)})
	}
	scaled := func(minimum int32) func(*runObjects) {
		return func(run *runObjects) {
			run.gym.Spec.EnableInTreeAutoscaling = ptr.To(true)
			run.gym.Spec.WorkerGroupSpecs[0].MinReplicas = &minimum
		}
	}
	minimum := func(leaf int, n int32) func(*runObjects) {
		return func(run *runObjects) { run.group.Spec.SubGroups[leaf].MinMember = &n }
	}
	suspend := func(run *runObjects) { run.gym.Spec.Suspend = ptr.To(true) }
	suspendAll := func(run *runObjects) {
		run.gym.Spec.Suspend, run.rl.Spec.Suspend, run.driver.Spec.Suspend = ptr.To(true), ptr.To(true), ptr.To(true)
	}
	neededDriver := func(change func(*batchv1.Job)) func(*runObjects) {
		return func(run *runObjects) {
			minimum(2, 1)(run)
			change(run.driver)
		}
	}
	nothing := func(*batchv1.Job) {}
	retried := func(job *batchv1.Job) { job.Spec.BackoffLimit = ptr.To[int32](2) }
	return []violationCase{
		{rule: kai.RuleMember, name: "pods that name a PodGroup that is not there", objects: with("0.17.0", annotation(kai.AnnotationPodGroup, "typo")), object: "RayCluster gym", field: namedAt, message: `no PodGroup "typo" in namespace "post-train"`},
		{rule: kai.RuleMember, name: "pods that name a PodGroup of another namespace", objects: change(func(run *runObjects) { run.group.Metadata.Namespace = "other" }), object: "RayCluster rl", field: "spec.headGroupSpec.template.metadata.annotations[pod-group-name]", message: "in namespace"},
		{rule: kai.RuleMember, name: "pods that skip the podgrouper and name nothing", objects: with("0.17.0", without(kai.AnnotationPodGroup)), object: "RayCluster gym", field: namedAt, message: "never scheduled"},
		{rule: kai.RuleMember, name: "pods that the podgrouper takes away", objects: change(func(run *runObjects) {
			unskippedOwner(run)
			delete(run.gym.Spec.WorkerGroupSpecs[0].Template.Annotations, kai.AnnotationSkipPodGrouper)
		}), object: "RayCluster gym", field: namedAt, message: "writes a name of its own over it", warning: false},
		{rule: kai.RuleMember, name: "an owner in two gangs", objects: change(func(run *runObjects) {
			unskippedOwner(run)
			without(kai.AnnotationPodGroup)(&run.gym.Spec.WorkerGroupSpecs[0].Template)
			without(kai.AnnotationSkipPodGrouper)(&run.gym.Spec.WorkerGroupSpecs[0].Template)
			run.gym.Annotations = nil
		}), object: "RayCluster gym", field: "", message: "put it on both", warning: true},
		{rule: kai.RuleMember, name: "pods without a subgroup", objects: with("0.17.0", without(kai.LabelSubGroup)), object: "RayCluster gym", field: subGroupAt, message: "write one of rl-head, rl-workers, rl-driver, gym-head, gym-workers"},
		{rule: kai.RuleMember, name: "pods of a subgroup that is not there", objects: with("0.17.0", label(kai.LabelSubGroup, "gym-worker")), object: "RayCluster gym", field: subGroupAt, message: "no such subgroup"},
		{rule: kai.RuleMember, name: "pods of a parent", objects: change(parent), object: "RayCluster gym", field: subGroupAt, message: "has subgroups below it"},
		{rule: kai.RuleMember, name: "a subgroup where there are none", objects: change(flat), object: "RayCluster rl", field: "spec.headGroupSpec.template.metadata.labels[kai.scheduler/subgroup-name]", message: "has no subgroups"},
		{rule: kai.RuleMember, name: "an annotation in one of its two places", objects: change(unskippedOwner), object: "RayCluster gym", message: "put it on both", warning: true},
		{rule: kai.RuleMember, name: "a member in all its places", objects: with("0.17.0")},
		{rule: kai.RuleSchedulerName, name: "pods of another scheduler in a PodGroup", objects: with("0.17.0", func(pod *corev1.PodTemplateSpec) { pod.Spec.SchedulerName = "" }), object: "RayCluster gym", field: workerTemplate + ".spec.schedulerName", message: "KAI does not see them"},
		{rule: kai.RuleSchedulerName, name: "pods of another scheduler beside a gang's", mode: kai.GangPerCluster, objects: []any{rayCluster("rl", workers(func(group *rayv1.WorkerGroupSpec) { group.Template.Spec.SchedulerName = "default-scheduler" }))}, object: "RayCluster rl", field: workerTemplate + ".spec.schedulerName", message: `"default-scheduler"`},
		{rule: kai.RuleSchedulerName, name: "pods of another scheduler beside single ones", version: "0.12.23", objects: []any{jobSet(trainers(func(job *v1alpha2.ReplicatedJob) { job.Template.Spec.Template.Spec.SchedulerName = "" }))}},
		{rule: "R4", name: "a driver that the gang needs and that is retried", objects: change(neededDriver(retried)), object: "Job driver", field: "spec.backoffLimit", message: "minMember 0"},
		{rule: "R4", name: "a driver that the gang does not need is retried", objects: change(func(run *runObjects) { retried(run.driver) })},
		{rule: "R7", name: "an autoscaler that may go below the minimum", objects: change(scaled(1)), object: "RayCluster gym", field: "spec.workerGroupSpecs[0].minReplicas", message: `below the 2 pods that subgroup "gym-workers"`},
		{rule: "R7", name: "an autoscaler that stays above", objects: change(scaled(2))},
		{rule: "R12", name: "Kueue in a gang over owners", objects: change(func(run *runObjects) { run.gym.Labels[kai.LabelKueueQueue] = "q" }), object: "RayCluster gym", field: "metadata.labels[kueue.x-k8s.io/queue-name]", message: "admits the 3 owners"},
		{rule: "R12", name: "Kueue in a pod template", objects: with("0.17.0", label(kai.LabelKueueQueue, "q")), object: "RayCluster gym", field: workerTemplate + ".metadata.labels[kueue.x-k8s.io/queue-name]", message: "one by one"},
		{rule: "R12", name: "Kueue over one owner", objects: []any{rayCluster("rl", func(c *rayv1.RayCluster) { c.Labels[kai.LabelKueueQueue] = "q" })}, object: "RayCluster rl", field: "metadata.labels[kueue.x-k8s.io/queue-name]", message: "both keep account", warning: true},
		{rule: "H4", name: "a driver that the gang needs and that ends first", version: "0.16.8", objects: gangOfTwo(t, "0.16.8", neededDriver(nothing)), object: "Job driver", field: "spec", message: "write minMember 0 for its subgroup"},
		{rule: "H4", name: "a driver that the gang needs, with some patience", objects: change(neededDriver(nothing)), object: "Job driver", field: "spec", message: `stalenessGracePeriod "-1s"`, warning: true},
		{rule: "H4", name: "a driver that the gang does not need", version: "0.16.8", objects: gangOfTwo(t, "0.16.8")},
		{rule: "H5", name: "a minimum above the pods", objects: change(minimum(4, 3)), object: gang, field: "spec.subGroups[gym-workers].minMember", message: "only 2 pods carry label"},
		{rule: "H5", name: "a minimum below the pods", objects: change(minimum(4, 1)), object: gang, field: "spec.subGroups[gym-workers].minMember", message: "write 2 to wait for all", warning: true},
		{rule: "H5", name: "a minimum of none", objects: change(minimum(4, 0))},
		{rule: "H5", name: "the pods, one by one", objects: change(func(run *runObjects) {
			flat(run)
			for _, template := range []*corev1.PodTemplateSpec{&run.rl.Spec.HeadGroupSpec.Template, &run.rl.Spec.WorkerGroupSpecs[0].Template} {
				delete(template.Labels, kai.LabelSubGroup)
			}
			run.group.Spec.MinMember = ptr.To[int32](8)
		}), object: gang, field: "spec.minMember", message: "8: only 7 pods name it"},
		{rule: "H6", name: "one suspended member", objects: change(suspend), object: "RayCluster gym", field: "spec.suspend", message: "suspend all of them or none"},
		{rule: "H6", name: "all members suspended", objects: change(suspendAll)},
		{rule: "H11", name: "another queue in a pod template", objects: with("0.17.0", label(kai.LabelQueue, "other")), object: "RayCluster gym", field: workerTemplate + ".metadata.labels[kai.scheduler/queue]", message: `"other"`},
		{rule: "H11", name: "another queue on the owner", objects: change(func(run *runObjects) {
			run.gym.Labels[kai.LabelQueue] = "other"
			delete(run.gym.Spec.HeadGroupSpec.Template.Labels, kai.LabelQueue)
		}), object: "RayCluster gym", field: "metadata.labels[kai.scheduler/queue]", message: "is in queue \"team\""},
		{rule: "H11", name: "another priority", objects: with("0.17.0", func(pod *corev1.PodTemplateSpec) { pod.Spec.PriorityClassName = "build" }), object: "RayCluster gym", field: workerTemplate + ".spec.priorityClassName", message: "write the same", warning: true},
	}
}
