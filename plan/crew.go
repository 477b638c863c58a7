package plan

import (
	"cmp"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// crewsOf are the pods that a controller makes of an object.
func crewsOf(object *unstructured.Unstructured) ([]crew, error) {
	owner := object.GetKind() + " " + object.GetName()
	switch object.GetKind() {
	case "JobSet":
		jobSet := &v1alpha2.JobSet{}
		if err := convert(object, jobSet); err != nil {
			return nil, err
		}
		var out []crew
		for _, job := range jobSet.Spec.ReplicatedJobs {
			// The typed field cannot tell 0 from absent; tandem always writes it.
			c := newCrew(owner, job.Replicas*podsOfJob(job.Template.Spec), job.Template.Spec.Template)
			c.part = strings.TrimPrefix(job.Name, c.cluster+"-")
			out = append(out, c)
		}
		return out, nil
	case "Job":
		job := &batchv1.Job{}
		if err := convert(object, job); err != nil {
			return nil, err
		}
		return []crew{newCrew(owner, podsOfJob(job.Spec), job.Spec.Template)}, nil
	case "RayCluster":
		cluster := &rayv1.RayCluster{}
		if err := convert(object, cluster); err != nil {
			return nil, err
		}
		return crewsOfRay(owner, &cluster.Spec), nil
	case "RayJob":
		job := &rayv1.RayJob{}
		if err := convert(object, job); err != nil || job.Spec.RayClusterSpec == nil {
			return nil, err
		}
		return crewsOfRay(owner, job.Spec.RayClusterSpec), nil
	}
	return nil, nil
}

func convert(object *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}

func newCrew(owner string, pods int32, template corev1.PodTemplateSpec) crew {
	group := template.Labels[v1alpha1.LabelGroup]
	return crew{owner: owner, cluster: template.Labels[v1alpha1.LabelCluster], group: group, part: group, pods: pods, template: template}
}

func podsOfJob(spec batchv1.JobSpec) int32 {
	pods := or(spec.Parallelism, 1)
	return min(pods, or(spec.Completions, pods))
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// crewsOfRay are the head and the worker groups, with the containers that KubeRay adds.
func crewsOfRay(owner string, spec *rayv1.RayClusterSpec) []crew {
	head := *spec.HeadGroupSpec.Template.DeepCopy()
	if or(spec.EnableInTreeAutoscaling, false) {
		head.Spec.Containers = append(head.Spec.Containers, autoscaler(spec.AutoscalerOptions))
	}
	out := []crew{newCrew(owner, 1, head)}
	for _, group := range spec.WorkerGroupSpecs {
		template := *group.Template.DeepCopy()
		template.Spec.InitContainers = append(template.Spec.InitContainers, waitForGCS())
		c := newCrew(owner, or(group.Replicas, 1)*cmp.Or(group.NumOfHosts, 1), template)
		c.part = group.GroupName
		if most := or(group.MaxReplicas, 0) * cmp.Or(group.NumOfHosts, 1); most > c.pods {
			c.most = most
		}
		out = append(out, c)
	}
	return out
}

// autoscaler is KubeRay's sidecar of heads whose cluster grows and shrinks.
func autoscaler(options *rayv1.AutoscalerOptions) corev1.Container {
	container := corev1.Container{Name: "autoscaler", Resources: requesting("500m", "512Mi")}
	if options != nil && options.Resources != nil {
		container.Resources = *options.Resources
	}
	return container
}

// waitForGCS is the init container that KubeRay gives to workers.
func waitForGCS() corev1.Container {
	return corev1.Container{Name: "wait-gcs-ready", Resources: requesting("200m", "256Mi")}
}

func requesting(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}
}
