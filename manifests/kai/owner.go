package kai

import (
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// owner is a top owner: the object whose pods the podgrouper puts together. Exactly one of the pointers is set.
type owner struct {
	kind      string
	meta      metav1.ObjectMeta
	groups    []*group
	suspended bool

	jobSet *v1alpha2.JobSet
	ray    *rayv1.RayClusterSpec // of a RayCluster, or inside rayJob
	rayJob *rayv1.RayJob
	job    *batchv1.Job
}

// group is the pods of one template of an owner.
type group struct {
	name     string // of the replicatedJob or worker group
	field    string // the path of the pod template
	template *corev1.PodTemplateSpec
	pods     int32 // at any time
	index    int   // of the replicatedJob or worker group

	job    *batchv1.JobSpec       // where the pods are those of Jobs, and may end one by one
	worker *rayv1.WorkerGroupSpec // where they are a worker group
}

// Names of groups that are not the user's. headGroup is KAI's name for the subgroup of a head.
const (
	headGroup = "headgroup"
	submitter = "submitter"
)

func (o *owner) String() string { return o.kind + " " + o.meta.Name }

// usesKAI tells whether KAI schedules any pod of the owner.
func (o *owner) usesKAI() bool {
	for _, g := range o.groups {
		if g.usesKAI() {
			return true
		}
	}
	return false
}

func (g *group) usesKAI() bool { return g.template.Spec.SchedulerName == SchedulerName }

// total is the number of the owner's pods, that of a submitter aside.
func (o *owner) total() int32 {
	sum := int32(0)
	for _, g := range o.groups {
		if g.name != submitter {
			sum += g.pods
		}
	}
	return sum
}

func jobSetOwner(jobSet *v1alpha2.JobSet) *owner {
	o := &owner{kind: "JobSet", meta: jobSet.ObjectMeta, jobSet: jobSet, suspended: or(jobSet.Spec.Suspend, false)}
	for i := range jobSet.Spec.ReplicatedJobs {
		replicated := &jobSet.Spec.ReplicatedJobs[i]
		o.groups = append(o.groups, &group{
			name:     replicated.Name,
			index:    i,
			field:    fmt.Sprintf("spec.replicatedJobs[%d].template.spec.template", i),
			template: &replicated.Template.Spec.Template,
			pods:     replicated.Replicas * podsOf(&replicated.Template.Spec),
			job:      &replicated.Template.Spec,
		})
	}
	return o
}

// podsOf is how many pods of a Job exist at once.
func podsOf(job *batchv1.JobSpec) int32 {
	return min(parallelism(job), or(job.Completions, parallelism(job)))
}

func parallelism(job *batchv1.JobSpec) int32 { return or(job.Parallelism, 1) }

func rayClusterOwner(cluster *rayv1.RayCluster) *owner {
	return &owner{
		kind: "RayCluster", meta: cluster.ObjectMeta, ray: &cluster.Spec,
		groups: rayGroups("spec", &cluster.Spec), suspended: or(cluster.Spec.Suspend, false),
	}
}

func rayJobOwner(job *rayv1.RayJob) *owner {
	o := &owner{kind: "RayJob", meta: job.ObjectMeta, rayJob: job, ray: job.Spec.RayClusterSpec, suspended: job.Spec.Suspend}
	if o.ray == nil { // it uses a RayCluster that exists
		return o
	}
	o.groups = rayGroups("spec.rayClusterSpec", o.ray)
	if isK8sJobMode(job) {
		template := job.Spec.SubmitterPodTemplate
		if template == nil {
			template = &corev1.PodTemplateSpec{}
		}
		o.groups = append(o.groups, &group{name: submitter, field: "spec.submitterPodTemplate", template: template, pods: 1})
	}
	return o
}

// isK8sJobMode is what a RayJob without a mode is too.
func isK8sJobMode(job *rayv1.RayJob) bool {
	return job.Spec.SubmissionMode == "" || job.Spec.SubmissionMode == rayv1.K8sJobMode
}

func rayGroups(at string, spec *rayv1.RayClusterSpec) []*group {
	groups := []*group{{name: headGroup, field: at + ".headGroupSpec.template", template: &spec.HeadGroupSpec.Template, pods: 1}}
	for i := range spec.WorkerGroupSpecs {
		worker := &spec.WorkerGroupSpecs[i]
		groups = append(groups, &group{
			name:     worker.GroupName,
			index:    i,
			field:    fmt.Sprintf("%s.workerGroupSpecs[%d].template", at, i),
			template: &worker.Template,
			pods:     workerPods(worker),
			worker:   worker,
		})
	}
	return groups
}

// workerPods is how many pods KubeRay makes: it clamps replicas to the bounds, and makes none of a suspended group.
func workerPods(worker *rayv1.WorkerGroupSpec) int32 {
	if or(worker.Suspend, false) {
		return 0
	}
	replicas := max(or(worker.Replicas, 0), or(worker.MinReplicas, 0))
	if worker.MaxReplicas != nil {
		replicas = min(replicas, *worker.MaxReplicas)
	}
	return replicas * hosts(worker)
}

func hosts(worker *rayv1.WorkerGroupSpec) int32 { return max(worker.NumOfHosts, 1) }

func jobOwner(job *batchv1.Job) *owner {
	return &owner{
		kind: "Job", meta: job.ObjectMeta, job: job, suspended: or(job.Spec.Suspend, false),
		groups: []*group{{
			name: job.Name, field: "spec.template", template: &job.Spec.Template, pods: podsOf(&job.Spec), job: &job.Spec,
		}},
	}
}

func podOwner(pod *corev1.Pod) *owner {
	template := &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	return &owner{kind: "Pod", meta: pod.ObjectMeta, groups: []*group{{name: pod.Name, field: "", template: template, pods: 1}}}
}

// path is a field of the group's template.
func (g *group) path(field string) string {
	if g.field == "" { // a bare pod is its own template
		return field
	}
	return g.field + "." + field
}
