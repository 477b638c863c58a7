package v1alpha1

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *Cluster) validateAutoscaler(at *field.Path) field.ErrorList {
	a := c.Autoscaler
	if a == nil {
		return nil
	}
	if !c.Autoscales() {
		return field.ErrorList{field.Invalid(at, c.Name, "no worker group of the cluster autoscales: give one minReplicas and maxReplicas, or remove it")}
	}
	var errs field.ErrorList
	if a.Version != "" {
		errs = append(errs, oneOf(at.Child("version"), a.Version, "v1", "v2")...)
	}
	if a.UpscalingMode != "" {
		errs = append(errs, oneOf(at.Child("upscalingMode"), a.UpscalingMode, "Default", "Aggressive", "Conservative")...)
	}
	if idle := a.IdleTimeout; idle != nil && (idle.Duration < 0 || idle.Duration%time.Second != 0) {
		errs = append(errs, field.Invalid(at.Child("idleTimeout"), idle.Duration.String(), "must be whole seconds, 0s or more"))
	}
	return append(errs, countable(at.Child("idleTimeout"), a.IdleTimeout)...)
}

// maxPods is what Kubernetes is made for (its page "Considerations for large clusters").
const maxPods = 150_000

// validateSize checks the number of pods of a worker group.
func (w *WorkerGroup) validateSize(at *field.Path, backend Backend) field.ErrorList {
	var errs field.ErrorList
	if w.Pods() > maxPods {
		errs = append(errs, field.Invalid(at.Child("replicas"), w.Pods(), fmt.Sprintf("is more than %d, the most pods that a cluster of Kubernetes has", maxPods)))
	}
	if w.Pods() < 0 {
		errs = append(errs, field.Invalid(at.Child("replicas"), w.Pods(), "must not be negative"))
	}
	errs = append(errs, w.validateAutoscaling(at, backend)...)
	return append(errs, w.validateSegments(at)...)
}

func (w *WorkerGroup) validateAutoscaling(at *field.Path, backend Backend) field.ErrorList {
	least, most := w.MinReplicas, w.MaxReplicas
	switch {
	case !w.Autoscales():
		return nil
	case least == nil:
		return field.ErrorList{field.Required(at.Child("minReplicas"), "maxReplicas is set: an autoscaling group has both bounds")}
	case most == nil:
		return field.ErrorList{field.Required(at.Child("maxReplicas"), "minReplicas is set: an autoscaling group has both bounds")}
	case backend == BackendJobSet:
		return field.ErrorList{field.Invalid(at.Child("maxReplicas"), *most, "a JobSet cannot change its size: remove the bounds, or set backend: raycluster")}
	case *least < 0:
		return field.ErrorList{field.Invalid(at.Child("minReplicas"), *least, "must not be negative")}
	case *least > *most:
		return field.ErrorList{field.Invalid(at.Child("minReplicas"), *least, fmt.Sprintf("is more than maxReplicas, which is %d", *most))}
	case w.Pods() < *least || w.Pods() > *most:
		return field.ErrorList{field.Invalid(at.Child("replicas"), w.Pods(), fmt.Sprintf("must lie between minReplicas and maxReplicas, %d and %d", *least, *most))}
	}
	return nil
}

func (w *WorkerGroup) validateSegments(at *field.Path) field.ErrorList {
	size, pods := w.SegmentSize, w.Pods()
	at = at.Child("segmentSize")
	switch {
	case size == 0:
		return nil
	case size < 0:
		return field.ErrorList{field.Invalid(at, size, "must not be negative")}
	case w.Autoscales():
		return field.ErrorList{field.Invalid(at, size, "the group autoscales, and a segment has a fixed size: remove segmentSize, or the bounds")}
	case pods/size > maxSegments:
		return field.ErrorList{field.Invalid(at, size, fmt.Sprintf("%d pods make %d segments, and a group can have %d: choose a larger size, or fewer replicas", pods, pods/size, maxSegments))}
	case pods%size != 0:
		return field.ErrorList{field.Invalid(at, size, fmt.Sprintf("%d pods make %d segments of %d and leave %d over: choose %d or %d replicas, or another size",
			pods, pods/size, size, pods%size, pods-pods%size, pods-pods%size+size))}
	}
	return nil
}
