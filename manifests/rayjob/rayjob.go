// Package rayjob renders the driver of a run and its cluster as one KubeRay RayJob. The run's other clusters are RayClusters (package
// raycluster), which go with it.
//
// It promises that KubeRay runs the driver's command word for word, with the driver's variables, and starts the cluster of the driver as
// package raycluster would: the spec is the same. What is rendered is a RayJob as it is once it runs; `tandem up` creates it with
// spec.suspend first, so that nothing of it starts before what it needs is there (see package launch).
//
// KubeRay submits the driver by an HTTP request to the head's dashboard (HTTPMode): the submitter pods of its other modes are what a gang
// scheduler waits for in vain (kuberay#4418, kuberay#4945). In that mode KubeRay 1.6 asks the head every three seconds about the job, whose
// id it has chosen before, and submits it whenever the head has none of that id: a request that got lost needs no other guard. So the pod
// that submits the driver on other backends is not there, and neither are its log and its exit code: launch reads them from the
// RayJob's status.
//
// What KubeRay makes of the fields of a Run file:
//   - failure.startupGrace is preRunningDeadlineSeconds, which counts from when the RayJob is not suspended any more. The time that its
//     pods wait for a node is part of it, so there is none under schedulers that queue.
//   - driver.retries is backoffLimit: each retry is a new cluster, not only a new process.
//   - driver.activeDeadline is activeDeadlineSeconds, which counts the start of the cluster too.
//   - ttlAfterFinished is ttlSecondsAfterFinished: how long the cluster of the driver, pods and GPUs included, outlives the driver.
//     Without it the cluster goes at once. The RayJob stays until `tandem down`, it says how the run ended.
package rayjob

import (
	"math"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayac "github.com/ray-project/kuberay/ray-operator/pkg/client/applyconfiguration/ray/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/raycluster"
)

// Build renders the cluster of the driver of a valid run of the rayjob backend. KubeRay gives the RayJob's labels and annotations to the
// RayCluster that it makes, so they are those that a RayCluster has.
func Build(run *v1alpha1.Run, cluster *v1alpha1.Cluster) (*rayac.RayJobApplyConfiguration, error) {
	rayCluster, err := raycluster.Build(run, cluster)
	if err != nil {
		return nil, err
	}
	spec := rayac.RayJobSpec().
		WithSubmissionMode(rayv1.HTTPMode).
		WithEntrypoint(entrypoint(run)).
		WithBackoffLimit(run.Spec.Driver.Retries).
		WithShutdownAfterJobFinishes(true). // also what KubeRay wants of a RayJob that may be suspended
		WithRayClusterSpec(rayCluster.Spec)
	if run.Spec.Scheduling.Scheduler == v1alpha1.SchedulerDefault {
		// Elsewhere a run may wait for its turn for hours, and KubeRay's clock would count that; its pods' troubles are peerwatch's.
		spec.WithPreRunningDeadlineSeconds(int32(math.Ceil(run.Spec.Failure.StartupGrace.Seconds())))
	}
	if ttl := run.Spec.TTLAfterFinished; ttl != nil {
		spec.WithTTLSecondsAfterFinished(int32(ttl.Seconds()))
	}
	if limit := run.Spec.Driver.ActiveDeadline; limit != nil {
		spec.WithActiveDeadlineSeconds(int32(limit.Seconds()))
	}
	return rayac.RayJob(v1alpha1.RayJobName(run.Metadata.Name), run.Metadata.Namespace).
		WithLabels(rayCluster.Labels).
		WithAnnotations(rayCluster.Annotations).
		WithSpec(spec), nil
}
