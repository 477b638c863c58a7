// Package raycluster renders a run as KubeRay RayClusters, one for each cluster, and a Job for the driver.
//
// It promises that KubeRay starts what the Run file says and nothing else: KubeRay's own start command is replaced by that of
// package pod (annotation ray.io/overwrite-container-cmd), its autoscaler is off unless a group of the file has bounds, and its probes find theirs set. rayStartParams repeat
// the flags because KubeRay reads the ports of its services from them.
//
// Pods keep the restart policy Always: a head that fails restarts in place, and the peerwatch sidecar beside it, which survives
// that, sees the restart and takes the run down. With Never KubeRay would replace the pod and the evidence with it.
package raycluster

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayac "github.com/ray-project/kuberay/ray-operator/pkg/client/applyconfiguration/ray/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/pod"
	"github.com/tandem-rl/tandem/manifests/schedule"
)

// overwriteCommand makes KubeRay leave the container's command alone.
const overwriteCommand = "ray.io/overwrite-container-cmd"

// Build renders one cluster of a valid run of the raycluster backend.
func Build(run *v1alpha1.Run, cluster *v1alpha1.Cluster) (*rayac.RayClusterApplyConfiguration, error) {
	head, err := head(pod.Head(run, cluster))
	if err != nil {
		return nil, err
	}
	spec := rayac.RayClusterSpec().
		WithRayVersion(run.Spec.RayVersion).
		WithEnableInTreeAutoscaling(cluster.Autoscales()).
		WithHeadGroupSpec(head)
	if cluster.Autoscales() {
		spec.WithAutoscalerOptions(autoscaler(run, cluster.Autoscaler))
	}
	for _, group := range pod.Workers(run, cluster) {
		workers, err := workers(group)
		if err != nil {
			return nil, err
		}
		spec.WithWorkerGroupSpecs(workers)
	}
	marks := schedule.Must(run).Owner()
	return rayac.RayCluster(v1alpha1.RayClusterName(run.Metadata.Name, cluster.Name), run.Metadata.Namespace).
		WithLabels(pod.Labels(run, cluster.Name, "")).
		WithLabels(marks.Labels).
		WithAnnotations(marks.Annotations).
		WithSpec(spec), nil
}

// autoscaler gives the container that KubeRay adds to the head what else it needs: the API token, which the pod does not mount by itself
// (KubeRay binds its rights to the head's account), and Ray's token.
func autoscaler(run *v1alpha1.Run, a *v1alpha1.Autoscaler) *rayac.AutoscalerOptionsApplyConfiguration {
	out := rayac.AutoscalerOptions().WithVolumeMounts(pod.TokenMount()).WithEnv(pod.TokenEnv(run)...)
	if a == nil {
		return out
	}
	if a.Version != "" {
		out.WithVersion(rayv1.AutoscalerVersion(a.Version))
	}
	if a.UpscalingMode != "" {
		out.WithUpscalingMode(rayv1.UpscalingMode(a.UpscalingMode))
	}
	if a.IdleTimeout != nil {
		out.WithIdleTimeoutSeconds(int32(a.IdleTimeout.Seconds()))
	}
	return out
}

func head(g pod.Group) (*rayac.HeadGroupSpecApplyConfiguration, error) {
	template, err := template(g)
	if err != nil {
		return nil, err
	}
	return rayac.HeadGroupSpec().WithRayStartParams(g.RayStartParams()).WithTemplate(template), nil
}

// workers is a group of fixed size unless the file gives bounds; KubeRay wants them spelt out.
func workers(g pod.Group) (*rayac.WorkerGroupSpecApplyConfiguration, error) {
	template, err := template(g)
	if err != nil {
		return nil, err
	}
	replicas := g.Segment.Pods
	least, most := replicas, replicas
	if g.Worker.Autoscales() {
		least, most = *g.Worker.MinReplicas, *g.Worker.MaxReplicas
	}
	return rayac.WorkerGroupSpec().
		WithGroupName(g.Segment.Name).
		WithReplicas(replicas).
		WithMinReplicas(least).
		WithMaxReplicas(most).
		WithRayStartParams(g.RayStartParams()).
		WithTemplate(template), nil
}

func template(g pod.Group) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	template, err := g.Template()
	if err != nil {
		return nil, err
	}
	return template.WithAnnotations(map[string]string{overwriteCommand: "true"}), nil
}

// Driver renders the Job that submits the driver.
func Driver(run *v1alpha1.Run) (*batchv1ac.JobApplyConfiguration, error) {
	spec, err := pod.DriverJobSpec(run)
	if err != nil {
		return nil, err
	}
	if ttl := run.Spec.TTLAfterFinished; ttl != nil {
		spec.WithTTLSecondsAfterFinished(int32(ttl.Seconds()))
	}
	marks := schedule.Must(run).Owner()
	return batchv1ac.Job(v1alpha1.DriverJobName(run.Metadata.Name), run.Metadata.Namespace).
		WithLabels(pod.DriverLabels(run)).
		WithLabels(marks.Labels).
		WithAnnotations(marks.Annotations).
		WithSpec(spec), nil
}
