package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kinds that pods refer to.
const (
	kindSecret        = "Secret"
	kindConfigMap     = "ConfigMap"
	kindVolumeClaim   = "PersistentVolumeClaim"
	kindPriorityClass = "PriorityClass"
	kindRuntimeClass  = "RuntimeClass"
	kindDeviceClass   = "DeviceClass"
	kindClaimTemplate = "ResourceClaimTemplate"
)

// references are what the pods need and the run does not make, sorted. Fields that an object does not have are read as empty: the objects
// are rendered here, and their schemas are the server's to check.
func (p *Plan) references() []Reference {
	r := &referrer{made: map[string]bool{}, list: []Reference{}}
	for _, object := range p.objects {
		r.made[object.GetKind()+" "+object.GetName()] = true
		r.deviceClasses(object)
		if template, _, _ := unstructured.NestedString(object.Object, "spec", "channel", "resourceClaimTemplate", "name"); template != "" {
			r.made[kindClaimTemplate+" "+template] = true // by the driver of the ComputeDomain
		}
	}
	for i := range p.crews {
		r.crew = &p.crews[i]
		r.pod(&p.crews[i].template.Spec)
	}
	slices.SortFunc(r.list, func(a, b Reference) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return r.list
}

// referrer collects references.
type referrer struct {
	made map[string]bool
	crew *crew // whose pod is read
	list []Reference
}

// to notes a reference. One that is needed somewhere is not optional.
func (r *referrer) to(kind, name string, optional *bool, keys ...string) {
	if name == "" || r.made[kind+" "+name] {
		return
	}
	i := slices.IndexFunc(r.list, func(ref Reference) bool { return ref.Kind == kind && ref.Name == name })
	if i < 0 {
		i, r.list = len(r.list), append(r.list, Reference{Kind: kind, Name: name, Optional: true})
	}
	ref := &r.list[i]
	ref.Optional = ref.Optional && or(optional, false)
	if !or(optional, false) {
		ref.Keys = union(ref.Keys, keys...)
		slices.Sort(ref.Keys)
	}
	if r.crew != nil && !slices.Contains(ref.UsedBy, r.crew.name()) {
		ref.UsedBy = append(ref.UsedBy, r.crew.name())
	}
	if r.crew != nil {
		ref.pods += r.crew.pods
	}
}

func (r *referrer) pod(spec *corev1.PodSpec) {
	for _, secret := range spec.ImagePullSecrets {
		r.to(kindSecret, secret.Name, nil)
	}
	r.to(kindPriorityClass, spec.PriorityClassName, nil)
	r.to(kindRuntimeClass, or(spec.RuntimeClassName, ""), nil)
	for _, claim := range spec.ResourceClaims {
		r.to(kindClaimTemplate, or(claim.ResourceClaimTemplateName, ""), nil)
	}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		r.container(&container)
	}
	for _, volume := range spec.Volumes {
		r.volume(&volume.VolumeSource)
	}
}

func (r *referrer) container(c *corev1.Container) {
	for _, variable := range c.Env {
		if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
			r.to(kindSecret, from.SecretKeyRef.Name, from.SecretKeyRef.Optional, from.SecretKeyRef.Key)
		} else if from != nil && from.ConfigMapKeyRef != nil {
			r.to(kindConfigMap, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional, from.ConfigMapKeyRef.Key)
		}
	}
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil {
			r.to(kindSecret, from.SecretRef.Name, from.SecretRef.Optional)
		}
		if from.ConfigMapRef != nil {
			r.to(kindConfigMap, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		}
	}
}

func (r *referrer) volume(v *corev1.VolumeSource) {
	switch {
	case v.Secret != nil:
		r.to(kindSecret, v.Secret.SecretName, v.Secret.Optional, items(v.Secret.Items)...)
	case v.ConfigMap != nil:
		r.configMap(v.ConfigMap.LocalObjectReference, v.ConfigMap.Optional, v.ConfigMap.Items)
	case v.PersistentVolumeClaim != nil:
		r.to(kindVolumeClaim, v.PersistentVolumeClaim.ClaimName, nil)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				r.to(kindSecret, source.Secret.Name, source.Secret.Optional, items(source.Secret.Items)...)
			}
			if source.ConfigMap != nil {
				r.configMap(source.ConfigMap.LocalObjectReference, source.ConfigMap.Optional, source.ConfigMap.Items)
			}
		}
	}
}

// rootCA is in every namespace.
const rootCA = "kube-root-ca.crt"

func (r *referrer) configMap(ref corev1.LocalObjectReference, optional *bool, keys []corev1.KeyToPath) {
	if ref.Name != rootCA {
		r.to(kindConfigMap, ref.Name, optional, items(keys)...)
	}
}

func items(list []corev1.KeyToPath) []string {
	var keys []string
	for _, item := range list {
		keys = append(keys, item.Key)
	}
	return keys
}

// deviceClasses reads a ResourceClaimTemplate of the run, in which every version of the API puts the class elsewhere. A field that is not
// there is read as empty.
func (r *referrer) deviceClasses(object *unstructured.Unstructured) {
	if object.GetKind() != kindClaimTemplate {
		return
	}
	requests, _, _ := unstructured.NestedSlice(object.Object, "spec", "spec", "devices", "requests")
	for _, request := range requests {
		fields, isMap := request.(map[string]any)
		if !isMap {
			continue
		}
		class, _, _ := unstructured.NestedString(fields, "deviceClassName")
		if exactly, _, _ := unstructured.NestedString(fields, "exactly", "deviceClassName"); exactly != "" {
			class = exactly
		}
		r.to(kindDeviceClass, class, nil)
	}
}
