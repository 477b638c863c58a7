// Package jobset renders a run as one JobSet.
//
// It promises that all pods start at once (a gang scheduler waits for all of them, so nothing may depend on the readiness of
// another; what must wait does so in an init container), that the run succeeds with its driver, and that the failure of any pod
// fails the whole JobSet, once, without a restart.
package jobset

import (
	"fmt"
	"strings"

	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/pod"
)

// Build renders a valid run of the jobset backend.
func Build(run *v1alpha1.Run) *jobsetac.JobSetApplyConfiguration {
	jobs := replicatedJobs(run)
	coordinator := v1alpha1.ReplicatedJobName(run.Spec.Driver.Cluster, v1alpha1.GroupHead)
	return jobsetac.JobSet(v1alpha1.JobSetName(run.Metadata.Name), run.Metadata.Namespace).
		WithLabels(pod.Labels(run, "", "")).
		WithSpec(jobsetac.JobSetSpec().
			WithNetwork(jobsetac.Network().WithEnableDNSHostnames(true).WithPublishNotReadyAddresses(true)).
			WithCoordinator(jobsetac.Coordinator().WithReplicatedJob(coordinator).WithJobIndex(0).WithPodIndex(0)).
			WithSuccessPolicy(jobsetac.SuccessPolicy().
				WithOperator(v1alpha2.OperatorAll).WithTargetReplicatedJobs(v1alpha1.GroupDriver)).
			WithFailurePolicy(failurePolicy(jobs)).
			WithReplicatedJobs(jobs...))
}

// replicatedJobs are the heads and worker groups in the order of the file, then the driver.
func replicatedJobs(run *v1alpha1.Run) []*jobsetac.ReplicatedJobApplyConfiguration {
	var jobs []*jobsetac.ReplicatedJobApplyConfiguration
	for i := range run.Spec.Clusters {
		cluster := &run.Spec.Clusters[i]
		jobs = append(jobs, group(pod.Head(run, cluster)))
		for _, worker := range pod.Workers(run, cluster) {
			// JobSet refuses a replicatedJob without pods.
			if worker.Segment.Pods > 0 {
				jobs = append(jobs, group(worker))
			}
		}
	}
	return append(jobs, replicatedJob(v1alpha1.GroupDriver, pod.DriverLabels(run), 1, pod.Driver(run)))
}

func group(g pod.Group) *jobsetac.ReplicatedJobApplyConfiguration {
	return replicatedJob(v1alpha1.ReplicatedJobName(g.Cluster.Name, g.Segment.Name), g.Labels(), g.Segment.Pods, g.Template())
}

// replicatedJob holds all pods of a group in one Job, so that their host names count up from <run>-<cluster>-<group>-0-0.
func replicatedJob(name string, labels map[string]string, pods int32, template *corev1ac.PodTemplateSpecApplyConfiguration) *jobsetac.ReplicatedJobApplyConfiguration {
	return jobsetac.ReplicatedJob().
		WithName(name).
		WithReplicas(1).
		WithTemplate(batchv1ac.JobTemplateSpec().WithLabels(labels).WithSpec(pod.JobSpec(pods, template)))
}

// failurePolicy has a rule for each role: it does the same for all, but the rule's name is what JobSet's events report.
func failurePolicy(jobs []*jobsetac.ReplicatedJobApplyConfiguration) *jobsetac.FailurePolicyApplyConfiguration {
	policy := jobsetac.FailurePolicy().WithMaxRestarts(0)
	for _, job := range jobs {
		policy.WithRules(jobsetac.FailurePolicyRule().
			WithName(ruleName(*job.Name)).
			WithAction(v1alpha2.FailJobSet).
			WithTargetReplicatedJobs(*job.Name))
	}
	return policy
}

// ruleName is made of what JobSet allows in it: letters first, and no dashes.
func ruleName(job string) string {
	return fmt.Sprintf("fail_%s", strings.ReplaceAll(job, "-", "_"))
}
