package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// annotationStarting is on a RayJob from its creation until it is resumed; its value is when it was created (RFC 3339).
const annotationStarting = "tandem.dev/starting"

// bringUp applies a run whose RayJob owns the rest: the RayJob is created suspended, then what it needs, then it is resumed, then the
// other clusters are created. In that order nothing starts before what it needs is there; and were the other clusters created first, an
// `up` that is killed just then would leave them holding their nodes for a RayJob that nobody resumes. A RayJob that misses a peer fails
// when startupGrace has passed.
//
// A RayJob is created and never applied: two `up` at once cannot both have it, and none changes one that runs. When something is refused
// on the way the RayJob is deleted, and the rest with it. When ctx ends all stays as it is, for the next `up` to go on with.
func (l *Launcher) bringUp(ctx context.Context, run *v1alpha1.Run, objects []*unstructured.Unstructured) ([]Change, error) {
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == rayJobs.name })
	rayJob, rest := objects[at], slices.Concat(objects[:at], objects[at+1:])
	existing, err := l.tryRayJob(ctx, rayJob)
	if err != nil {
		return nil, err
	}
	if err := l.tryAll(ctx, rest); err != nil {
		return nil, err
	}
	change := Change{Object: id(rayJob), Action: "unchanged"}
	created := existing == nil
	if created {
		change.Action = "created"
		if existing, err = l.createSuspended(ctx, run, rayJob); err != nil {
			return nil, err
		}
	} else if existing.GetAnnotations()[annotationStarting] != "" {
		change.Action = "configured"
	}
	changes, err := l.complete(ctx, run, existing, rest)
	if err != nil && created && ctx.Err() == nil {
		return nil, errors.Join(err, l.abort(ctx, existing, rest))
	}
	return append([]Change{change}, changes...), err
}

// complete makes what a RayJob needs, resumes it, and makes the other clusters.
func (l *Launcher) complete(ctx context.Context, run *v1alpha1.Run, rayJob *unstructured.Unstructured, rest []*unstructured.Unstructured) ([]Change, error) {
	var needs, clusters []*unstructured.Unstructured
	for _, object := range rest {
		if mayBeOwned(object) {
			object.SetOwnerReferences([]metav1.OwnerReference{ownedBy(rayJob)})
		}
		if object.GetKind() == rayClusters.name {
			clusters = append(clusters, object)
		} else {
			needs = append(needs, object)
		}
	}
	changes, err := l.applyInOrder(ctx, needs)
	if err != nil {
		return nil, err
	}
	if err := l.resume(ctx, run, rayJob); err != nil {
		return nil, err
	}
	more, err := l.applyInOrder(ctx, clusters)
	return append(changes, more...), err
}

// mayBeOwned: the run's ConfigMap stays when its RayJob goes, since it says why the run failed. A ComputeDomain must not go before the
// pods that use it, which take longer than their owner (k8s-dra-driver-gpu#380). `tandem down` removes both.
func mayBeOwned(object *unstructured.Unstructured) bool {
	main := object.GetKind() == configMaps.name && object.GetLabels()[v1alpha1.LabelBackend] != ""
	return !main && object.GetKind() != computeDomains.name
}

// ownedBy does not make the RayJob a controller: it knows nothing of its prerequisites, and must not wait for them.
func ownedBy(rayJob *unstructured.Unstructured) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: rayJob.GetAPIVersion(), Kind: rayJob.GetKind(), Name: rayJob.GetName(), UID: rayJob.GetUID(),
		Controller: new(false), BlockOwnerDeletion: new(false),
	}
}

// tryRayJob lets the server check a RayJob without taking it, under a name that is free, and returns the one that is there, if any. That
// must be described alike; whether it is suspended is another matter.
func (l *Launcher) tryRayJob(ctx context.Context, rayJob *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource := l.dynamic.Resource(rayJobs.resource).Namespace(rayJob.GetNamespace())
	trial := rayJob.DeepCopy()
	trial.SetName("")
	trial.SetGenerateName(rayJob.GetName() + "-")
	next, err := resource.Create(ctx, trial, metav1.CreateOptions{FieldManager: v1alpha1.FieldManager, DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsNotFound(err) && missingNamespace(err) == "" {
		return nil, &MissingKindError{Kind: rayJobs.name, Err: err}
	}
	if err != nil {
		return nil, refusal(id(rayJob), err)
	}
	existing, err := resource.Get(ctx, rayJob.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", id(rayJob), err)
	}
	before, err := asKubeRayWrites(existing)
	if err != nil {
		return nil, err
	}
	next, err = asKubeRayWrites(next)
	if err != nil {
		return nil, err
	}
	return existing, changed(id(rayJob), before, next)
}

// asKubeRayWrites is a RayJob without suspend, as it looks once KubeRay has put its finalizer on it: with every field that has no omitempty.
func asKubeRayWrites(rayJob *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	typed, err := convert[rayv1.RayJob](*rayJob)
	if err != nil {
		return nil, err
	}
	typed.Spec.Suspend = false
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", id(rayJob), err)
	}
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(rayJob.GroupVersionKind())
	return out, nil
}

// createSuspended creates a RayJob of which nothing runs yet. Kueue admits, and resumes, what has its label: that comes later.
func (l *Launcher) createSuspended(ctx context.Context, run *v1alpha1.Run, rayJob *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	suspended := rayJob.DeepCopy()
	if err := unstructured.SetNestedField(suspended.Object, true, "spec", "suspend"); err != nil {
		return nil, fmt.Errorf("suspending %s: %w", id(rayJob), err)
	}
	annotations := suspended.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationStarting] = time.Now().UTC().Format(time.RFC3339)
	suspended.SetAnnotations(annotations)
	labels := suspended.GetLabels()
	delete(labels, kai.LabelKueueQueue)
	suspended.SetLabels(labels)
	created, err := l.dynamic.Resource(rayJobs.resource).Namespace(run.Metadata.Namespace).
		Create(ctx, suspended, metav1.CreateOptions{FieldManager: v1alpha1.FieldManager})
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", id(rayJob), err)
	}
	return created, nil
}

// resume lets KubeRay start a RayJob, or Kueue, once it admits it. One that was resumed before is left alone.
func (l *Launcher) resume(ctx context.Context, run *v1alpha1.Run, rayJob *unstructured.Unstructured) error {
	if rayJob.GetAnnotations()[annotationStarting] == "" {
		return nil
	}
	metadata := map[string]any{"uid": rayJob.GetUID(), "annotations": map[string]any{annotationStarting: nil}}
	change := map[string]any{"metadata": metadata}
	if run.Spec.Scheduling.Scheduler == v1alpha1.SchedulerKueue {
		metadata["labels"] = map[string]any{kai.LabelKueueQueue: run.Spec.Scheduling.Queue}
	} else {
		change["spec"] = map[string]any{"suspend": nil}
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("resuming %s: %w", id(rayJob), err)
	}
	_, err = l.dynamic.Resource(rayJobs.resource).Namespace(rayJob.GetNamespace()).
		Patch(ctx, rayJob.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: v1alpha1.FieldManager})
	if err != nil {
		return fmt.Errorf("resuming %s: %w", id(rayJob), err)
	}
	return nil
}

// abortWithin bounds how long what was made of a run that is refused is cleared away.
const abortWithin = 30 * time.Second

// abort deletes a RayJob that was just created, with what it owns, and what it does not own, and returns when it is gone: so that `up` may
// be called again at once.
func (l *Launcher) abort(ctx context.Context, rayJob *unstructured.Unstructured, rest []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	var removal Removal
	err := l.remove(ctx, rayJobs, *rayJob, &removal)
	for _, object := range rest {
		if !mayBeOwned(object) {
			if _, errDelete := l.apply.Delete(ctx, object, ssa.DefaultDeleteOptions()); errDelete != nil {
				err = errors.Join(err, fmt.Errorf("deleting %s: %w", id(object), errDelete))
			}
		}
	}
	return errors.Join(err, l.waitGone(ctx, rayJobs, rayJob.GetNamespace(), rayJob.GetLabels()[v1alpha1.LabelRun], func(string) {}))
}

// id is how an object is called in messages.
func id(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s/%s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}
