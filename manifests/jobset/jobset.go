// Package jobset renders a run as one JobSet.
//
// It promises that all pods start at once (a gang scheduler waits for all of them, so nothing may depend on the readiness of
// another; what must wait does so in an init container), that the run succeeds with its driver, and that the failure of any pod
// fails the whole JobSet, or restarts it as often as the file allows.
package jobset

import (
	"fmt"
	"strings"

	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetac "sigs.k8s.io/jobset/client-go/applyconfiguration/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/pod"
	"github.com/tandem-rl/tandem/manifests/schedule"
)

// Build renders a valid run of the jobset backend.
func Build(run *v1alpha1.Run) (*jobsetac.JobSetApplyConfiguration, error) {
	jobs, err := replicatedJobs(run)
	if err != nil {
		return nil, err
	}
	coordinator := v1alpha1.ReplicatedJobName(run.Spec.Driver.Cluster, v1alpha1.GroupHead)
	spec := jobsetac.JobSetSpec().
		WithNetwork(jobsetac.Network().WithEnableDNSHostnames(true).WithPublishNotReadyAddresses(true)).
		WithCoordinator(jobsetac.Coordinator().WithReplicatedJob(coordinator).WithJobIndex(0).WithPodIndex(0)).
		WithSuccessPolicy(jobsetac.SuccessPolicy().
			WithOperator(v1alpha2.OperatorAll).WithTargetReplicatedJobs(v1alpha1.GroupDriver)).
		WithFailurePolicy(failurePolicy(run, jobs)).
		WithReplicatedJobs(jobs...)
	if ttl := run.Spec.TTLAfterFinished; ttl != nil {
		spec.WithTTLSecondsAfterFinished(int32(ttl.Seconds()))
	}
	marks := schedule.Must(run).Owner()
	return jobsetac.JobSet(v1alpha1.JobSetName(run.Metadata.Name), run.Metadata.Namespace).
		WithLabels(pod.Labels(run, "", "")).
		WithLabels(marks.Labels).
		WithAnnotations(marks.Annotations).
		WithSpec(spec), nil
}

// replicatedJobs are the heads and worker groups in the order of the file, then the driver.
func replicatedJobs(run *v1alpha1.Run) ([]*jobsetac.ReplicatedJobApplyConfiguration, error) {
	var jobs []*jobsetac.ReplicatedJobApplyConfiguration
	for i := range run.Spec.Clusters {
		cluster := &run.Spec.Clusters[i]
		for _, g := range append([]pod.Group{pod.Head(run, cluster)}, pod.Workers(run, cluster)...) {
			if g.Segment.Pods == 0 {
				continue // JobSet refuses a replicatedJob without pods
			}
			job, err := group(g)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, job)
		}
	}
	spec, err := pod.DriverJobSpec(run)
	if err != nil {
		return nil, err
	}
	template := jobTemplate(run, v1alpha1.GroupDriver, false).WithLabels(pod.DriverLabels(run)).WithSpec(spec)
	return append(jobs, replicatedJob(v1alpha1.GroupDriver, template)), nil
}

func group(g pod.Group) (*jobsetac.ReplicatedJobApplyConfiguration, error) {
	pods, err := g.Template()
	if err != nil {
		return nil, err
	}
	template := jobTemplate(g.Run, g.Name, g.Spec.GPUs > 0).WithLabels(g.Labels()).WithSpec(pod.JobSpec(g.Segment.Pods, pods))
	return replicatedJob(v1alpha1.ReplicatedJobName(g.Cluster.Name, g.Segment.Name), template), nil
}

// jobTemplate has what the scheduler reads there.
func jobTemplate(run *v1alpha1.Run, group string, gpus bool) *batchv1ac.JobTemplateSpecApplyConfiguration {
	return batchv1ac.JobTemplateSpec().WithAnnotations(schedule.Must(run).Job(group, gpus).Annotations)
}

// replicatedJob holds all pods of a group in one Job, so that their host names count up from <run>-<cluster>-<group>-0-0.
func replicatedJob(name string, template *batchv1ac.JobTemplateSpecApplyConfiguration) *jobsetac.ReplicatedJobApplyConfiguration {
	return jobsetac.ReplicatedJob().WithName(name).WithReplicas(1).WithTemplate(template)
}

// failurePolicy has a rule for each role: the rule's name is what JobSet's events report. A cluster that fails makes everything start
// again as often as the file allows, once all that was is gone; the driver's own failure is final, its Job has tried again.
func failurePolicy(run *v1alpha1.Run, jobs []*jobsetac.ReplicatedJobApplyConfiguration) *jobsetac.FailurePolicyApplyConfiguration {
	restarts := run.Spec.Failure.Restarts()
	policy := jobsetac.FailurePolicy().WithMaxRestarts(restarts)
	if restarts > 0 {
		policy.WithRestartStrategy(v1alpha2.BlockingRecreate)
	}
	for _, job := range jobs {
		verb, action := "fail", v1alpha2.FailJobSet
		if restarts > 0 && *job.Name != v1alpha1.GroupDriver {
			verb, action = "restart", v1alpha2.RestartJobSet
		}
		policy.WithRules(jobsetac.FailurePolicyRule().
			WithName(ruleName(verb, *job.Name)).
			WithAction(action).
			WithTargetReplicatedJobs(*job.Name))
	}
	return policy
}

// ruleName is made of what JobSet allows in it: letters first, and no dashes.
func ruleName(verb, job string) string {
	return fmt.Sprintf("%s_%s", verb, strings.ReplaceAll(job, "-", "_"))
}
