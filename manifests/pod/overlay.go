package pod

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// overlay merges the pod templates of the file into one of ours, the nearest last.
//
// Validate has tried each by itself. One may still not go with another, such as two that order one list differently.
func overlay(template *corev1ac.PodTemplateSpecApplyConfiguration, main string, patches []*v1alpha1.PodTemplate) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	for _, patch := range patches {
		if patch == nil {
			continue
		}
		out, err := merged(template, main, patch.Patch())
		if err != nil {
			return nil, fmt.Errorf("podTemplate %s: %w", patch.Patch(), err)
		}
		template = out
	}
	return template, nil
}

func merged(template *corev1ac.PodTemplateSpecApplyConfiguration, main string, patch []byte) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	original, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	data, err := v1alpha1.MergePodTemplate(original, patch)
	if err != nil {
		return nil, err
	}
	out := &corev1ac.PodTemplateSpecApplyConfiguration{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, err
	}
	if out.Spec == nil || !first(out.Spec.Containers, main) {
		return nil, fmt.Errorf("takes the container %q out of the pod", main)
	}
	return out, nil
}

// first moves a container to the front, where KubeRay looks for Ray, and tells whether it is there.
func first(containers []corev1ac.ContainerApplyConfiguration, name string) bool {
	at := slices.IndexFunc(containers, func(c corev1ac.ContainerApplyConfiguration) bool { return c.Name != nil && *c.Name == name })
	if at > 0 {
		container := containers[at]
		copy(containers[1:at+1], containers[:at])
		containers[0] = container
	}
	return at >= 0
}

// withoutContainers leaves the containers out of the run's template for the driver's pod: they are the Ray container, which that pod does not
// have, and those beside it, one of which would keep that pod from ending, and with it the run.
func withoutContainers(template *v1alpha1.PodTemplate) *v1alpha1.PodTemplate {
	if template == nil {
		return nil
	}
	var whole, spec map[string]json.RawMessage
	if json.Unmarshal(template.Patch(), &whole) != nil || json.Unmarshal(whole["spec"], &spec) != nil || spec["containers"] == nil {
		return template // no containers in it
	}
	delete(spec, "containers")
	whole["spec"] = mustJSON(spec)
	return v1alpha1.NewPodTemplate(mustJSON(whole))
}

// mustJSON encodes what was decoded.
func mustJSON(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", value, err))
	}
	return data
}
