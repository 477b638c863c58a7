package v1alpha1

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The containers that overlays may not take the command from.
const (
	mainContainer   = "ray"
	driverContainer = "driver"
)

// ours stands for every value that tandem sets in a pod and a patch must leave alone; nobody can mean it by accident.
const ours = "(tandem)"

// The ways out for whoever wants another program in the Ray container, or another account.
const (
	wayOutOfStart   = "tandem starts Ray in this container: use the group's command, setup or rayStartParams (or driver.command)"
	wayOutOfAccount = "the sidecars need the run's own account, which is made for it; bind further roles to that account"
)

// MergePodTemplate merges a strategic merge patch into a pod template, both as JSON.
func MergePodTemplate(template, patch []byte) (merged []byte, err error) {
	defer func() { // the library panics at a null in a list, and at a mapping where a directive wants a word
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a list or directive holds what none can (%v)", cause)
		}
	}()
	return strategicpatch.StrategicMergePatch(template, patch, corev1.PodTemplateSpec{})
}

// validate tries the merge, and refuses what a field of the Run file decides, so that there is one place to look. It merges twice: an item
// without its merge key is noticed only where the list has items already, as it may in the pod.
func (t *PodTemplate) validate(at *field.Path, container string) field.ErrorList {
	if t == nil || string(t.Patch()) == "null" {
		return nil
	}
	var template corev1.PodTemplateSpec
	merged, err := json.Marshal(skeleton(container))
	for range 2 {
		if err == nil {
			merged, err = MergePodTemplate(merged, t.Patch())
		}
	}
	if err != nil {
		wayOut := "it is a strategic merge patch, as `kubectl patch` takes"
		if strings.Contains(err.Error(), "does not contain declared merge key") {
			wayOut = "an item of a list is merged by its key: add it"
		}
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("cannot be merged: %v; %s", err, wayOut))}
	}
	if err := json.Unmarshal(merged, &template); err != nil {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("makes no pod: %v", err))}
	}
	return refuse(at, &template, container)
}

// skeleton has something of all that tandem sets, so that what a patch takes away is seen too.
func skeleton(container string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{LabelRun: ours}},
		Spec: corev1.PodSpec{
			SchedulerName: ours, PriorityClassName: ours, RestartPolicy: ours, ServiceAccountName: ours, AutomountServiceAccountToken: new(false),
			InitContainers: []corev1.Container{{Name: ours}},
			Containers: []corev1.Container{{
				Name: container, Command: []string{ours}, Args: []string{ours}, Env: []corev1.EnvVar{{Name: EnvRun}},
				VolumeMounts: []corev1.VolumeMount{{Name: ours, MountPath: PublishDir}},
			}},
			Volumes: []corev1.Volume{{Name: ours}},
		},
	}
}

// refuse reports what other fields decide, and what no pod of a run can be without.
func refuse(at *field.Path, template *corev1.PodTemplateSpec, main string) field.ErrorList {
	spec, path := &template.Spec, at.Child("spec")
	index := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == main })
	if index < 0 {
		return field.ErrorList{field.Invalid(path.Child("containers"), field.OmitValueType{}, fmt.Sprintf(
			"takes the container %q out of the pod, which runs in it: name what is to go, and leave the rest of the list", main))}
	}
	var errs field.ErrorList
	decided := func(is bool, at *field.Path, value any, wayOut string) {
		if is {
			errs = append(errs, field.Invalid(at, value, wayOut))
		}
	}
	decided(spec.SchedulerName != ours, path.Child("schedulerName"), spec.SchedulerName, "set spec.scheduling.scheduler of the run instead")
	decided(spec.PriorityClassName != ours, path.Child("priorityClassName"), spec.PriorityClassName, "set spec.scheduling.priorityClass of the run instead")
	decided(spec.RestartPolicy != ours, path.Child("restartPolicy"), spec.RestartPolicy, "the backend decides whether pods restart")
	decided(spec.ServiceAccountName != ours, path.Child("serviceAccountName"), spec.ServiceAccountName, wayOutOfAccount)
	decided(spec.DeprecatedServiceAccount != "", path.Child("serviceAccount"), spec.DeprecatedServiceAccount, wayOutOfAccount)
	token := spec.AutomountServiceAccountToken
	decided(token == nil || *token, path.Child("automountServiceAccountToken"), true,
		"no user container of a run gets a token of the API server; what needs one must mount it as a projected volume of its own")
	container, where := spec.Containers[index], path.Child("containers").Index(index)
	decided(!slices.Equal(container.Command, []string{ours}), where.Child("command"), strings.Join(container.Command, " "), wayOutOfStart)
	decided(!slices.Equal(container.Args, []string{ours}), where.Child("args"), strings.Join(container.Args, " "), wayOutOfStart)
	for _, name := range sortedKeys(template.Labels) {
		decided(strings.HasPrefix(name, "tandem.dev/") && template.Labels[name] != ours,
			at.Child("metadata", "labels").Key(name), template.Labels[name], "tandem sets its own labels: choose another prefix")
	}
	return append(errs, refuseLoss(at, template, &container, where)...)
}

// refuseLoss reports lists that are taken away whole, what tandem has in them included.
func refuseLoss(at *field.Path, template *corev1.PodTemplateSpec, container *corev1.Container, where *field.Path) field.ErrorList {
	var errs field.ErrorList
	keep := func(kept bool, at *field.Path) {
		if !kept {
			errs = append(errs, field.Invalid(at, field.OmitValueType{}, "takes away what tandem has in it: name what is to go, and leave the rest of it"))
		}
	}
	spec := &template.Spec
	keep(template.Labels[LabelRun] != "", at.Child("metadata", "labels"))
	keep(slices.ContainsFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == ours }), at.Child("spec", "initContainers"))
	keep(slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == ours }), at.Child("spec", "volumes"))
	keep(slices.ContainsFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == EnvRun }), where.Child("env"))
	keep(slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == PublishDir }), where.Child("volumeMounts"))
	return errs
}
