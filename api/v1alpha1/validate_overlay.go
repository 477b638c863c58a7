package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The containers that overlays may not take the command from.
const (
	mainContainer   = "ray"
	driverContainer = "driver"
)

// validate tries the merge, which fails for reasons that are in the patch alone, and refuses what a field of the Run file decides, so that
// there is one place to look.
func (t *PodTemplate) validate(at *field.Path, container string) field.ErrorList {
	if t == nil || len(t.patch) == 0 || string(t.patch) == "null" {
		return nil
	}
	skeleton := fmt.Appendf(nil, `{"metadata":{},"spec":{"containers":[{"name":%q}]}}`, container)
	merged, err := strategicpatch.StrategicMergePatch(skeleton, t.patch, corev1.PodTemplateSpec{})
	if err != nil {
		wayOut := "it is a strategic merge patch, as `kubectl patch` takes"
		if strings.Contains(err.Error(), "does not contain declared merge key") {
			wayOut = "an item of a list is merged by its key: add it"
		}
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("cannot be merged: %v; %s", err, wayOut))}
	}
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(merged, &template); err != nil {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, fmt.Sprintf("makes no pod: %v", err))}
	}
	return refuse(at, &template, container)
}

// refuse reports what other fields decide.
func refuse(at *field.Path, template *corev1.PodTemplateSpec, main string) field.ErrorList {
	var errs field.ErrorList
	spec, path := &template.Spec, at.Child("spec")
	decided := func(is bool, at *field.Path, value any, wayOut string) {
		if is {
			errs = append(errs, field.Invalid(at, value, wayOut))
		}
	}
	decided(spec.SchedulerName != "", path.Child("schedulerName"), spec.SchedulerName, "set spec.scheduling.scheduler of the run instead")
	decided(spec.PriorityClassName != "", path.Child("priorityClassName"), spec.PriorityClassName, "set spec.scheduling.priorityClass of the run instead")
	decided(spec.RestartPolicy != "", path.Child("restartPolicy"), spec.RestartPolicy, "the backend decides whether pods restart")
	decided(spec.ServiceAccountName != "", path.Child("serviceAccountName"), spec.ServiceAccountName,
		"the sidecars need the run's own account, which is made for it; bind further roles to that account")
	decided(spec.AutomountServiceAccountToken != nil && *spec.AutomountServiceAccountToken, path.Child("automountServiceAccountToken"), true,
		"no user container of a run gets a token of the API server; what needs one must mount it as a projected volume of its own")
	for i, container := range spec.Containers {
		if container.Name != main {
			continue
		}
		where := path.Child("containers").Index(i)
		decided(len(container.Command) > 0, where.Child("command"), strings.Join(container.Command, " "),
			"tandem starts Ray in this container: use the group's command, setup or rayStartParams (or driver.command)")
		decided(len(container.Args) > 0, where.Child("args"), strings.Join(container.Args, " "),
			"tandem starts Ray in this container: use the group's command, setup or rayStartParams (or driver.command)")
	}
	for _, name := range sortedKeys(template.Labels) {
		decided(strings.HasPrefix(name, "tandem.dev/"), at.Child("metadata", "labels").Key(name), template.Labels[name], "tandem sets its own labels: choose another prefix")
	}
	return errs
}
