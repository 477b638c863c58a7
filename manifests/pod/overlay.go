package pod

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// overlay merges the pod templates of the file into one of ours, the nearest last. In the templates of run and cluster the Ray container is
// called ray, which the driver's pod does not have: there such an entry is left out.
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
	if main != RayContainer {
		patch = withoutContainer(patch, RayContainer)
	}
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

// withoutContainer takes the entry of one container out of a patch.
func withoutContainer(patch []byte, name string) []byte {
	var tree struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	var whole map[string]json.RawMessage
	var containers []map[string]any
	if json.Unmarshal(patch, &whole) != nil || json.Unmarshal(patch, &tree) != nil || json.Unmarshal(tree.Spec["containers"], &containers) != nil {
		return patch // no containers in it
	}
	kept := slices.DeleteFunc(containers, func(c map[string]any) bool { return c["name"] == name })
	tree.Spec["containers"] = mustJSON(kept)
	whole["spec"] = mustJSON(tree.Spec)
	return mustJSON(whole)
}

// mustJSON encodes what was decoded.
func mustJSON(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", value, err))
	}
	return data
}
