package pod

import (
	"fmt"
	"maps"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/schedule"
)

// Template is the pod of the group. The error is that of podTemplates which do not go together.
func (g Group) Template() (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	spec := podSpec(g.Run).
		WithInitContainers(g.initContainers()...).
		WithContainers(g.rayContainer()).
		WithVolumes(g.volumes()...).
		WithResourceClaims(g.resourceClaims()...)
	place(spec, g.settings)
	if account := g.serviceAccount(); account != "" {
		spec.WithServiceAccountName(account)
	}
	scheduling := schedule.Must(g.Run)
	if ref := scheduling.WorkloadRef(g.Cluster.Name); ref != nil {
		spec.WithWorkloadRef(ref)
	}
	template := marked(corev1ac.PodTemplateSpec().WithLabels(g.Labels()), scheduling.Pod(g.Cluster.Name, g.Segment.Name, g.Spec.GPUs > 0))
	template, err := overlay(template.WithSpec(spec), RayContainer, g.overlays)
	if err != nil {
		return nil, fmt.Errorf("pods of group %s of cluster %s: %w", g.Name, g.Cluster.Name, err)
	}
	return template, nil
}

// marked adds what the scheduler reads.
func marked(template *corev1ac.PodTemplateSpecApplyConfiguration, marks schedule.Marks) *corev1ac.PodTemplateSpecApplyConfiguration {
	return template.WithLabels(marks.Labels).WithAnnotations(marks.Annotations)
}

// place says where the pod may go.
func place(spec *corev1ac.PodSpecApplyConfiguration, settings v1alpha1.PodSettings) {
	if len(settings.NodeSelector) > 0 {
		spec.WithNodeSelector(settings.NodeSelector)
	}
	for i := range settings.Tolerations {
		toleration := &corev1ac.TolerationApplyConfiguration{}
		mustConvert(settings.Tolerations[i], toleration)
		spec.WithTolerations(toleration)
	}
}

// Labels are those of the group's pods and of the objects that make them.
func (g Group) Labels() map[string]string { return Labels(g.Run, g.Cluster.Name, g.Name) }

// initContainers are the sidecars and, on JobSet, the wait for the head; KubeRay adds its own wait to workers.
func (g Group) initContainers() []*corev1ac.ContainerApplyConfiguration {
	out := append(g.fetchCode(), g.beginAttempt()...)
	if g.hasRegistry() {
		out = append(out, g.registrySidecar())
	}
	if g.hasPeerwatch() {
		out = append(out, g.peerwatchSidecar())
	}
	if !g.isHead() && !g.onKubeRay() {
		out = append(out, waitForTCP(g.Run, "wait-for-head", g.gcsAddress()))
	}
	return out
}

// podSpec is what all pods of a run have in common.
func podSpec(run *v1alpha1.Run) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false)
	for _, secret := range run.Spec.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret))
	}
	if name := schedule.Must(run).SchedulerName(); name != "" {
		spec.WithSchedulerName(name)
	}
	if class := run.Spec.Scheduling.PriorityClass; class != "" {
		spec.WithPriorityClassName(class)
	}
	return spec
}

// Labels are the labels of a run's objects and pods, with the queue where KAI looks for it.
func Labels(run *v1alpha1.Run, cluster, group string) map[string]string {
	labels := v1alpha1.Labels(run.Metadata.Name, cluster, group)
	if run.Spec.User != "" {
		labels[v1alpha1.LabelOwner] = run.Spec.User
	}
	if run.Spec.Scheduling.Scheduler == v1alpha1.SchedulerKAI {
		maps.Copy(labels, map[string]string{v1alpha1.LabelKAIQueue: run.Spec.Scheduling.Queue})
	}
	return labels
}
