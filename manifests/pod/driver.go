package pod

import (
	_ "embed"
	"fmt"
	"net"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/schedule"
)

// JobSpec runs n pods of a template once: a pod that fails, or that the cluster takes away, fails the Job, and its logs stay.
//
// Without the podFailurePolicy an evicted pod would be replaced by one that joins a run which has already lost it.
func JobSpec(n int32, template *corev1ac.PodTemplateSpecApplyConfiguration) *batchv1ac.JobSpecApplyConfiguration {
	template.Spec.WithRestartPolicy(corev1.RestartPolicyNever)
	disrupted := batchv1ac.PodFailurePolicyRule().
		WithAction(batchv1.PodFailurePolicyActionFailJob).
		WithOnPodConditions(batchv1ac.PodFailurePolicyOnPodConditionsPattern().
			WithType(corev1.DisruptionTarget).WithStatus(corev1.ConditionTrue))
	return batchv1ac.JobSpec().
		WithCompletions(n).
		WithParallelism(n).
		WithCompletionMode(batchv1.IndexedCompletion).
		WithBackoffLimit(0).
		WithPodFailurePolicy(batchv1ac.PodFailurePolicy().WithRules(disrupted)).
		WithTemplate(template)
}

// DriverJobSpec runs the driver, and again as often as the file allows. Then an eviction is one of the failures that are counted. A restart
// of the clusters by peerwatch ends the driver too, so it gets a try more for each.
func DriverJobSpec(run *v1alpha1.Run) (*batchv1ac.JobSpecApplyConfiguration, error) {
	template, err := driverTemplate(run)
	if err != nil {
		return nil, err
	}
	spec := JobSpec(1, template)
	if limit := run.Spec.Driver.ActiveDeadline; limit != nil {
		spec.WithActiveDeadlineSeconds(int64(limit.Seconds()))
	}
	retries := run.Spec.Driver.Retries
	if run.Spec.Backend.OnKubeRay() {
		retries += run.Spec.Failure.Restarts()
	}
	if retries > 0 {
		spec.WithBackoffLimit(retries)
		spec.PodFailurePolicy = nil
	}
	return spec, nil
}

//go:embed submit.sh
var submitScript string

// submitCommand is the command of the driver's container, as startCommand is that of the others.
func submitCommand() []string {
	return []string{"/bin/bash", "-c", submitScript, "tandem-submit"}
}

// driverTemplate is the pod that submits the driver's command as a Ray job. It ends with the exit code of that command.
func driverTemplate(run *v1alpha1.Run) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	spec := podSpec(run).
		WithInitContainers(driverWaits(run)...).
		WithContainers(driverContainer(run))
	place(spec, run.Spec.PodSettings)
	scheduling := schedule.Must(run)
	if ref := scheduling.WorkloadRef(run.Spec.Driver.Cluster); ref != nil {
		spec.WithWorkloadRef(ref)
	}
	template := marked(corev1ac.PodTemplateSpec().WithLabels(DriverLabels(run)), scheduling.Pod(run.Spec.Driver.Cluster, v1alpha1.GroupDriver, false))
	template, err := overlay(template.WithSpec(spec), DriverContainer, []*v1alpha1.PodTemplate{withoutContainers(run.Spec.PodTemplate), run.Spec.Driver.PodTemplate})
	if err != nil {
		return nil, fmt.Errorf("the driver's pod: %w", err)
	}
	return template, nil
}

// DriverLabels are those of the driver's pod and Job.
func DriverLabels(run *v1alpha1.Run) map[string]string {
	return Labels(run, run.Spec.Driver.Cluster, v1alpha1.GroupDriver)
}

// driverWaits hold the submission back until the head can take it.
func driverWaits(run *v1alpha1.Run) []*corev1ac.ContainerApplyConfiguration {
	gcs, dashboard := driverAddresses(run)
	return []*corev1ac.ContainerApplyConfiguration{
		waitForTCP(run, "wait-for-head", gcs),
		waitForHTTP(run, "wait-for-dashboard", "http://"+dashboard+"/api/version"),
	}
}

func driverContainer(run *v1alpha1.Run) *corev1ac.ContainerApplyConfiguration {
	driver := run.Spec.Driver
	return userContainer(run, DriverContainer, "").
		WithCommand(submitCommand()...).
		WithArgs(submitArgs(run)...).
		WithEnv(slices.Concat(baseEnv(run), rayTokenEnv(run), hold(run), userEnv(driver.Env))...).
		WithResources(resources(driver.Resources, driver.Limits, 0))
}

// submitArgs names the driver's variables: the script takes their values from its own environment, after Kubernetes has expanded them.
func submitArgs(run *v1alpha1.Run) []string {
	_, dashboard := driverAddresses(run)
	driver := run.Spec.Driver
	args := []string{dashboard, submissionID(run), strconv.Itoa(len(driver.Env))}
	for _, variable := range driver.Env {
		args = append(args, variable.Name)
	}
	return append(args, driver.Command...)
}

// submissionID is the name of the run, unless it may be submitted again: Ray takes each id once.
func submissionID(run *v1alpha1.Run) string {
	if run.Spec.Driver.Retries == 0 && run.Spec.Failure.Restarts() == 0 {
		return run.Metadata.Name
	}
	return "$(" + v1alpha1.EnvPodName + ")"
}

// driverAddresses are those of the GCS and of the dashboard of the cluster that the driver is submitted to, as HOST:PORT.
func driverAddresses(run *v1alpha1.Run) (gcs, dashboard string) {
	host := run.HeadHost(run.Spec.Driver.Cluster)
	for _, cluster := range run.Spec.Clusters {
		if cluster.Name == run.Spec.Driver.Cluster {
			gcs = net.JoinHostPort(host, decimal(cluster.Ports.GCS))
			dashboard = net.JoinHostPort(host, decimal(cluster.Ports.Dashboard))
		}
	}
	return gcs, dashboard
}
