package kai_test

import (
	"maps"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/manifests/kai"
)

const namespace = "post-train"

// gang is how violations call the PodGroup of run7.
var gang = "PodGroup " + kai.PodGroupName(namespace, "run7")

// template is a pod of 1 cpu for KAI.
func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		SchedulerName: kai.SchedulerName,
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "image", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}},
	}}
}

func gpuTemplate(gpus string) corev1.PodTemplateSpec {
	pod := template()
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	return pod
}

func jobSpec(pods int32) batchv1.JobSpec {
	return batchv1.JobSpec{Parallelism: &pods, Completions: &pods, BackoffLimit: ptr.To[int32](0), Template: template()}
}

func replicatedJob(name string, pods int32) v1alpha2.ReplicatedJob {
	return v1alpha2.ReplicatedJob{Name: name, Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: jobSpec(pods)}}
}

// jobSet is a head, four trainers and a driver with whom all ends.
func jobSet(changes ...func(*v1alpha2.JobSet)) *v1alpha2.JobSet {
	set := &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Name: "run7", Namespace: namespace, Labels: map[string]string{kai.LabelQueue: "team"}, Annotations: map[string]string{}},
		Spec: v1alpha2.JobSetSpec{
			SuccessPolicy:  &v1alpha2.SuccessPolicy{Operator: v1alpha2.OperatorAll, TargetReplicatedJobs: []string{"driver"}},
			ReplicatedJobs: []v1alpha2.ReplicatedJob{replicatedJob("rl-head", 1), replicatedJob("rl-trainer", 4), replicatedJob("driver", 1)},
		},
	}
	for _, change := range changes {
		change(set)
	}
	return set
}

// annotated adds an annotation to a JobSet.
func annotated(key, value string) func(*v1alpha2.JobSet) {
	return func(set *v1alpha2.JobSet) { set.Annotations[key] = value }
}

// trainers changes the second replicatedJob.
func trainers(change func(*v1alpha2.ReplicatedJob)) func(*v1alpha2.JobSet) {
	return func(set *v1alpha2.JobSet) { change(&set.Spec.ReplicatedJobs[1]) }
}

func workerGroup(name string, replicas int32) rayv1.WorkerGroupSpec {
	return rayv1.WorkerGroupSpec{
		GroupName: name, Replicas: ptr.To(replicas), MinReplicas: ptr.To(replicas), MaxReplicas: ptr.To(replicas),
		RayStartParams: map[string]string{}, Template: template(),
	}
}

// rayCluster is a head and two workers.
func rayCluster(name string, changes ...func(*rayv1.RayCluster)) *rayv1.RayCluster {
	cluster := &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{kai.LabelQueue: "team"}, Annotations: map[string]string{}},
		Spec: rayv1.RayClusterSpec{
			HeadGroupSpec:    rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: template()},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{workerGroup("workers", 2)},
		},
	}
	for _, change := range changes {
		change(cluster)
	}
	return cluster
}

// workers changes the first worker group.
func workers(change func(*rayv1.WorkerGroupSpec)) func(*rayv1.RayCluster) {
	return func(cluster *rayv1.RayCluster) { change(&cluster.Spec.WorkerGroupSpecs[0]) }
}

func rayJob(mode rayv1.JobSubmissionMode, changes ...func(*rayv1.RayJob)) *rayv1.RayJob {
	cluster := rayCluster("x")
	job := &rayv1.RayJob{ObjectMeta: cluster.ObjectMeta, Spec: rayv1.RayJobSpec{SubmissionMode: mode, RayClusterSpec: &cluster.Spec}}
	for _, change := range changes {
		change(job)
	}
	return job
}

func job(name string, pods int32, changes ...func(*batchv1.Job)) *batchv1.Job {
	out := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{kai.LabelQueue: "team"}, Annotations: map[string]string{}},
		Spec:       jobSpec(pods),
	}
	for _, change := range changes {
		change(out)
	}
	return out
}

// run7 is the gang of two RayClusters and a driver, which may be missing.
func run7() kai.RunGang {
	groups := []kai.GangGroup{{Name: "head", Min: 1}, {Name: "workers", Min: 2}}
	return kai.RunGang{
		Run: "run7", Namespace: namespace, Queue: "team", PriorityClass: "train",
		Clusters: []kai.GangCluster{
			{Name: "rl", Groups: append(groups[:2:2], kai.GangGroup{Name: "driver"})},
			{Name: "gym", Groups: groups},
		},
	}
}

func podGroup(t testing.TB, version string, gang kai.RunGang) *kai.PodGroup {
	t.Helper()
	v, err := kai.Parse(version)
	require.NoError(t, err)
	group, err := kai.NewPodGroup(v, gang)
	require.NoError(t, err)
	return group
}

func runMember(cluster, group string) kai.Member {
	return kai.Member{PodGroup: kai.PodGroupName(namespace, "run7"), SubGroup: kai.SubGroupName(cluster, group), Queue: "team"}
}

func join(m kai.Member, owner *metav1.ObjectMeta, pod *corev1.PodTemplateSpec) {
	owner.Labels, owner.Annotations = merged(owner.Labels, m.OwnerLabels()), merged(owner.Annotations, m.OwnerAnnotations())
	pod.Labels, pod.Annotations = merged(pod.Labels, m.PodLabels()), merged(pod.Annotations, m.PodAnnotations())
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

// runObjects are a PodGroup and its members: two RayClusters and a driver.
type runObjects struct {
	group   *kai.PodGroup
	rl, gym *rayv1.RayCluster
	driver  *batchv1.Job
}

// gangOfTwo builds them, with the fields that the version has.
func gangOfTwo(t testing.TB, version string, changes ...func(*runObjects)) []any {
	gang := run7()
	if v, err := kai.Parse(version); err == nil && v.Features().StalenessGracePeriod {
		gang.Staleness = ptr.To(15 * time.Minute)
	}
	run := &runObjects{group: podGroup(t, version, gang), rl: member("rl"), gym: member("gym"), driver: job("driver", 1)}
	join(runMember("rl", "driver"), &run.driver.ObjectMeta, &run.driver.Spec.Template)
	for _, change := range changes {
		change(run)
	}
	return []any{run.group, run.rl, run.gym, run.driver}
}

func member(cluster string) *rayv1.RayCluster {
	return rayCluster(cluster, func(c *rayv1.RayCluster) {
		join(runMember(cluster, "head"), &c.ObjectMeta, &c.Spec.HeadGroupSpec.Template)
		join(runMember(cluster, "workers"), &c.ObjectMeta, &c.Spec.WorkerGroupSpecs[0].Template)
	})
}
