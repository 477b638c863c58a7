package v1alpha1

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (s *PodSettings) validate(at *field.Path) field.ErrorList {
	errs := validateEnv(at.Child("env"), s.Env)
	errs = append(errs, validateEnvFrom(at.Child("envFrom"), s.EnvFrom)...)
	errs = append(errs, validateVolumes(at.Child("volumes"), s.Volumes)...)
	errs = append(errs, validateNodeSelector(at.Child("nodeSelector"), s.NodeSelector)...)
	for i := range s.Tolerations {
		errs = append(errs, validateToleration(at.Child("tolerations").Index(i), &s.Tolerations[i])...)
	}
	return append(errs, s.PodTemplate.validate(at.Child("podTemplate"), mainContainer)...)
}

func validateNodeSelector(at *field.Path, selector map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range sortedKeys(selector) {
		errs = append(errs, plain(at, key, validation.IsQualifiedName(key), "must be the label of a node, such as nvidia.com/gpu.product")...)
		errs = append(errs, plain(at.Key(key), selector[key], validation.IsValidLabelValue(selector[key]),
			"must be at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit")...)
	}
	return errs
}

func validateEnvFrom(at *field.Path, sources []corev1.EnvFromSource) field.ErrorList {
	var errs field.ErrorList
	for i, source := range sources {
		switch secret, config := source.SecretRef, source.ConfigMapRef; {
		case secret == nil && config == nil:
			errs = append(errs, field.Required(at.Index(i), "secretRef or configMapRef, with the name of the object"))
		case secret != nil && config != nil:
			errs = append(errs, field.Invalid(at.Index(i).Child("configMapRef"), config.Name, "secretRef is set too: make two entries of it"))
		case secret != nil:
			errs = append(errs, objectName(at.Index(i).Child("secretRef", "name"), secret.Name, "the name of a Secret")...)
		default:
			errs = append(errs, objectName(at.Index(i).Child("configMapRef", "name"), config.Name, "the name of a ConfigMap")...)
		}
	}
	return errs
}

// objectName checks the name of an object of the cluster.
func objectName(at *field.Path, name, what string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, what)}
	}
	return plain(at, name, validation.IsDNS1123Subdomain(name), "must be lower-case letters, digits, - and ., and begin and end with a letter or digit")
}

// ownVolumes are tandem's, or Ray's.
var ownVolumes = []string{"tandem-publish", "tandem-token", "tandem-code", "tandem-shm"}

// ownPaths are where tandem mounts them.
var ownPaths = []string{PublishDir, "/var/run/secrets/kubernetes.io/serviceaccount"}

func validateVolumes(at *field.Path, volumes []Volume) field.ErrorList {
	var errs field.ErrorList
	names, paths := map[string]*field.Path{}, map[string]*field.Path{}
	for i, volume := range volumes {
		errs = append(errs, uniqueName(at.Index(i).Child("name"), volume.Name, "the name of the volume", names)...)
		if slices.Contains(ownVolumes, volume.Name) {
			errs = append(errs, field.Invalid(at.Index(i).Child("name"), volume.Name, "tandem makes this volume: choose another name"))
		}
		errs = append(errs, volume.validateSource(at.Index(i))...)
		for j, mount := range volume.Mounts {
			errs = append(errs, mount.validate(at.Index(i).Child("mounts").Index(j), paths)...)
		}
	}
	return errs
}

// validateSource counts the sources: Kubernetes wants exactly one.
func (v *Volume) validateSource(at *field.Path) field.ErrorList {
	data, err := json.Marshal(v.VolumeSource)
	var sources map[string]any
	if err == nil {
		err = json.Unmarshal(data, &sources)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(at, err)}
	}
	switch names := sortedKeys(sources); {
	case len(names) == 0:
		return field.ErrorList{field.Required(at, "what the volume is: one of persistentVolumeClaim, hostPath, emptyDir, secret, configMap, ... (write emptyDir: {} for an empty folder)")}
	case len(names) > 1:
		return field.ErrorList{field.Invalid(at.Child(names[1]), v.Name, fmt.Sprintf("%s is set too: a volume has one source, so make two volumes of it", names[0]))}
	}
	return nil
}

func (m *Mount) validate(at *field.Path, seen map[string]*field.Path) field.ErrorList {
	where, errs := at.Child("path"), field.ErrorList{}
	switch {
	case m.Path == "":
		errs = append(errs, field.Required(where, "where the Ray container sees the volume"))
	case !path.IsAbs(m.Path):
		errs = append(errs, field.Invalid(where, m.Path, "must begin with /"))
	case slices.Contains(ownPaths, path.Clean(m.Path)):
		errs = append(errs, field.Invalid(where, m.Path, "tandem mounts a volume of its own there: choose another path"))
	case seen[path.Clean(m.Path)] != nil:
		errs = append(errs, duplicate(where, m.Path, seen[path.Clean(m.Path)])...)
	default:
		seen[path.Clean(m.Path)] = where
	}
	if path.IsAbs(m.SubPath) || slices.Contains(strings.Split(m.SubPath, "/"), "..") {
		errs = append(errs, field.Invalid(at.Child("subPath"), m.SubPath, "must be a path within the volume: without / at its begin and without .."))
	}
	return errs
}

func validateToleration(at *field.Path, t *corev1.Toleration) field.ErrorList {
	var errs field.ErrorList
	if t.Operator != "" {
		errs = append(errs, oneOf(at.Child("operator"), t.Operator, corev1.TolerationOpExists, corev1.TolerationOpEqual)...)
	}
	if t.Effect != "" {
		errs = append(errs, oneOf(at.Child("effect"), t.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
	}
	switch {
	case t.Key == "" && t.Operator != corev1.TolerationOpExists:
		errs = append(errs, field.Required(at.Child("key"), "the taint's key; without one write operator: Exists to tolerate every taint"))
	case t.Operator == corev1.TolerationOpExists && t.Value != "":
		errs = append(errs, field.Invalid(at.Child("value"), t.Value, "operator Exists takes any value: remove it, or write operator: Equal"))
	case t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute:
		errs = append(errs, field.Invalid(at.Child("tolerationSeconds"), *t.TolerationSeconds, "is for effect: NoExecute only"))
	}
	return errs
}
