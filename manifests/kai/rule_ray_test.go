package kai_test

import (
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/manifests/kai"
)

func TestRayAndNames(t *testing.T) {
	t.Parallel()
	run(t, rayCases())
}

func rayCases() []violationCase {
	autoscaled := func(cluster *rayv1.RayCluster) { cluster.Spec.EnableInTreeAutoscaling = ptr.To(true) }
	replicas := func(minimum, n, maximum int32) func(*rayv1.RayCluster) {
		return workers(func(group *rayv1.WorkerGroupSpec) {
			group.MinReplicas, group.Replicas, group.MaxReplicas = &minimum, &n, &maximum
		})
	}
	named := func(name string) func(*rayv1.RayCluster) {
		return workers(func(group *rayv1.WorkerGroupSpec) { group.GroupName = name })
	}
	suspended := workers(func(group *rayv1.WorkerGroupSpec) { group.Suspend = ptr.To(true) })
	submitter := template()
	byKAI := func(job *rayv1.RayJob) { job.Spec.SubmitterPodTemplate = &submitter }
	longName := strings.Repeat("t", 55)
	renamed := func(name string) func(*v1alpha2.JobSet) {
		return trainers(func(job *v1alpha2.ReplicatedJob) { job.Name = name })
	}
	const group, mode = "spec.workerGroupSpecs[0]", "spec.submissionMode"
	return []violationCase{
		{rule: "R5", name: "a submitter of KAI", objects: []any{rayJob(rayv1.K8sJobMode, byKAI)}, object: "RayJob x", field: mode, message: "belongs to no subgroup"},
		{rule: "R5", name: "the default mode is K8sJobMode", version: "0.12.12", objects: []any{rayJob("", byKAI)}, object: "RayJob x", field: mode, message: "which is the default"},
		{rule: "R5", name: "before subgroups the submitter joined", version: "0.12.11", objects: []any{rayJob("", byKAI)}},
		{rule: "R5", name: "a submitter of another scheduler", objects: []any{rayJob(rayv1.K8sJobMode)}, object: "RayJob x", field: mode, message: "plugin for KAI refuses it", warning: true},
		{rule: "R5", name: "no submitter", objects: []any{rayJob(rayv1.HTTPMode)}},
		{rule: "R5", name: "a submitter in the head", objects: []any{rayJob(rayv1.SidecarMode)}, object: "RayJob x", field: mode, message: "does not make the head again", warning: true},
		{rule: "R7", name: "an autoscaled group from 0", objects: []any{rayCluster("rl", autoscaled, replicas(0, 2, 4))}, object: "RayCluster rl", field: group + ".minReplicas", message: "write at least 1"},
		{rule: "R7", name: "an autoscaled group from 1", objects: []any{rayCluster("rl", autoscaled, replicas(1, 2, 4))}},
		{rule: "R7", name: "a group from 0 that nobody scales", objects: []any{rayCluster("rl", replicas(0, 2, 4))}},
		{rule: "H10", name: "GCS fault tolerance", objects: []any{rayCluster("rl", func(c *rayv1.RayCluster) {
			c.Spec.GcsFaultToleranceOptions = &rayv1.GcsFaultToleranceOptions{RedisAddress: "redis:6379"}
		})}, object: "RayCluster rl", field: "spec.gcsFaultToleranceOptions", message: "ENABLE_GCS_FT_REDIS_CLEANUP=false", warning: true},
		{rule: kai.RuleReplicas, name: "fewer replicas than minReplicas", objects: []any{rayCluster("rl", replicas(3, 2, 4))}, object: "RayCluster rl", message: "fewer replicas (2) than minReplicas (3)"},
		{rule: kai.RuleReplicas, name: "more replicas than maxReplicas", objects: []any{rayCluster("rl", replicas(0, 4, 2))}, object: "RayCluster rl", field: group + ".maxReplicas", message: "KubeRay makes 2 pods and KAI waits for 4"},
		{rule: kai.RuleReplicas, name: "minReplicas within maxReplicas", objects: []any{rayCluster("rl", replicas(2, 4, 2))}},
		{rule: kai.RuleReplicas, name: "a suspended group", objects: []any{rayCluster("rl", suspended)}, object: "RayCluster rl", field: group + ".suspend", message: "KAI does not see it and waits for the group's 2 pods"},
		{rule: kai.RuleReplicas, name: "a replicatedJob of none", version: "0.16.0", objects: []any{withReplicas(0)}, object: "JobSet run7", message: "has no replicas"},
		{rule: kai.RuleReplicas, name: "on 0.15 a replicatedJob of none is nothing", version: "0.15.3", objects: []any{withReplicas(0)}},
		{rule: kai.RuleReplicas, name: "before 0.15 a replicatedJob of none counts as one", version: "0.14.7", objects: []any{withReplicas(0)}, object: "JobSet run7", field: "spec.replicatedJobs[0].replicas", message: "KAI 0.14.7 counts it as 1"},
		{rule: kai.RuleReplicas, name: "before 0.15 a replicatedJob of one", version: "0.14.7", objects: []any{withReplicas(1)}},
		{rule: kai.RuleGroupName, name: "a group that is no DNS label", objects: []any{rayCluster("rl", named("gpu_workers"))}, object: "RayCluster rl", message: `"gpu_workers" is no DNS label`},
		{rule: kai.RuleGroupName, name: "before 0.15 it need not be one", version: "0.14.7", objects: []any{rayCluster("rl", named("gpu_workers"))}},
		{rule: kai.RuleGroupName, name: "a group with the name of the head's", objects: []any{rayCluster("rl", named("headgroup"))}, object: "RayCluster rl", message: `two subgroups are called "headgroup"`},
		{rule: kai.RuleGroupName, name: "a replicatedJob whose leaf is too long", objects: []any{jobSet(renamed(longName))}, object: "JobSet run7", message: "has 65 characters"},
		{rule: kai.RuleGroupName, name: "before 0.16 there is no leaf", version: "0.15.3", objects: []any{jobSet(renamed(longName))}},
		{rule: kai.RuleGroupName, name: "a replicatedJob with the name of another's leaf", objects: []any{jobSet(renamed("rl-head-replica-0"))}, object: "JobSet run7", message: `two subgroups are called "rl-head-replica-0"`},
	}
}

// withReplicas is a JobSet as it comes from a file, the first replicatedJob with so many replicas: the typed field cannot say 0.
func withReplicas(n int64) any {
	replicated := func(name string, replicas int64) map[string]any {
		pod := map[string]any{"spec": map[string]any{"schedulerName": kai.SchedulerName}}
		return map[string]any{"name": name, "replicas": replicas, "template": map[string]any{"spec": map[string]any{"backoffLimit": 0, "template": pod}}}
	}
	return map[string]any{
		"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
		"metadata": map[string]any{"name": "run7", "namespace": namespace},
		"spec":     map[string]any{"replicatedJobs": []any{replicated("first", n), replicated("second", 2)}},
	}
}
