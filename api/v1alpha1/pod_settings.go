package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// PodSettings are what pods have in common: all of the run, of a cluster or of a group. Lists of the three are joined, and of two entries
// of one name the nearer to the pod wins.
type PodSettings struct {
	// Env are variables of the Ray container.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom takes every key of a Secret or ConfigMap as a variable.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Volumes are mounted into the Ray container.
	Volumes []Volume `json:"volumes,omitempty"`
	// NodeSelector are labels that a node must have.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations are taints that a node may have.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PodTemplate is merged last (strategic merge, as kubectl patch does) and can say all that a pod can. The Ray container is called ray.
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
}

// Volume is a volume and where the Ray container sees it.
type Volume struct {
	// Name of the volume, unique in the pod.
	Name string `json:"name"`
	// VolumeSource is any that a pod can have: persistentVolumeClaim, hostPath, emptyDir, secret, configMap, ...
	corev1.VolumeSource `json:",inline"`
	// Mounts are where the Ray container sees it; without one only containers of the pod template can.
	Mounts []Mount `json:"mounts,omitempty"`
}

// Mount is a place where a volume is seen.
type Mount struct {
	// Path in the container.
	Path string `json:"path"`
	// SubPath is a folder or file of the volume; default its root.
	SubPath string `json:"subPath,omitempty"`
	// ReadOnly refuses writes.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// PodTemplate is a part of a pod template (corev1.PodTemplateSpec), to be merged into others. It keeps the directives of strategic merge
// ($patch and the like), which a typed pod template cannot hold.
type PodTemplate struct{ patch json.RawMessage }

// NewPodTemplate takes the patch as JSON.
func NewPodTemplate(patch []byte) *PodTemplate { return &PodTemplate{patch: slices.Clone(patch)} }

// Patch is the strategic merge patch as JSON.
func (t *PodTemplate) Patch() []byte {
	if len(t.patch) == 0 {
		return []byte("{}")
	}
	return slices.Clone(t.patch)
}

// MarshalJSON returns the patch.
func (t PodTemplate) MarshalJSON() ([]byte, error) { return t.Patch(), nil }

// UnmarshalJSON keeps the patch as it is. Its fields are checked when a Run file is loaded.
func (t *PodTemplate) UnmarshalJSON(data []byte) error {
	t.patch = slices.Clone(data)
	return nil
}

// Settings are those of a group's pods: the run's, the cluster's and the group's in one, without the pod templates, which are merged one
// after the other.
func (r *Run) Settings(cluster *Cluster, group *Group) (PodSettings, []*PodTemplate) {
	merged, templates := PodSettings{}, []*PodTemplate{}
	for _, s := range []PodSettings{r.Spec.PodSettings, cluster.PodSettings, group.PodSettings} {
		merged = merged.with(s)
		if s.PodTemplate != nil {
			templates = append(templates, s.PodTemplate)
		}
	}
	return merged, templates
}

func (s PodSettings) with(nearer PodSettings) PodSettings {
	out := PodSettings{
		Env:          named(s.Env, nearer.Env, func(v corev1.EnvVar) string { return v.Name }),
		EnvFrom:      slices.Concat(s.EnvFrom, nearer.EnvFrom),
		Volumes:      named(s.Volumes, nearer.Volumes, func(v Volume) string { return v.Name }),
		NodeSelector: maps.Clone(s.NodeSelector),
		Tolerations:  slices.Concat(s.Tolerations, nearer.Tolerations),
	}
	if out.NodeSelector == nil && nearer.NodeSelector != nil {
		out.NodeSelector = map[string]string{}
	}
	maps.Copy(out.NodeSelector, nearer.NodeSelector)
	return out
}

// named joins two lists whose items have names; the nearer takes the place of one of the same name.
func named[T any](far, near []T, name func(T) string) []T {
	out := slices.Clone(far)
	for _, item := range near {
		at := slices.IndexFunc(out, func(other T) bool { return name(other) == name(item) })
		if at < 0 {
			out = append(out, item)
		} else {
			out[at] = item
		}
	}
	return out
}
