package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// Change is what Up did to one object.
type Change struct {
	Object string // Kind/namespace/name
	Action string // created, configured, unchanged
}

// Up applies a run. Nothing is created unless the server accepts every object (but for RoleBindings, which it cannot judge before their
// Roles are there). Up may be repeated while the run lives. It refuses a run that has ended with an *EndedError, one that is being removed
// with a *RemovingError, one of another shape (backend, clusters) with an *OtherShapeError, one that is described otherwise with a
// *ChangedError, and a cluster without the run's kinds with a *MissingKindError. A RayJob is created suspended and resumed; see bringUp.
func (l *Launcher) Up(ctx context.Context, run *v1alpha1.Run) ([]Change, error) {
	objects, err := manifests.Render(run)
	if err != nil {
		return nil, err
	}
	if err := l.refuse(ctx, run, objects); err != nil {
		return nil, err
	}
	apply := l.applyAll
	if run.Spec.Backend == v1alpha1.BackendRayJob {
		apply = func(ctx context.Context, objects []*unstructured.Unstructured) ([]Change, error) {
			return l.bringUp(ctx, run, objects)
		}
	}
	changes, err := apply(ctx, objects)
	if changed := (*ChangedError)(nil); errors.As(err, &changed) {
		changed.Name = run.Metadata.Name
		return nil, changed
	}
	if err != nil {
		return nil, fmt.Errorf("applying run %s/%s: %w", run.Metadata.Namespace, run.Metadata.Name, explain(err))
	}
	return changes, nil
}

// applyAll tries every object, then applies them.
func (l *Launcher) applyAll(ctx context.Context, objects []*unstructured.Unstructured) ([]Change, error) {
	if err := l.tryAll(ctx, objects); err != nil {
		return nil, err
	}
	return l.applyInOrder(ctx, objects)
}

// tryAll tries every object but RoleBindings: to know that its user has the rights that one gives, the server looks for the Role, unless
// that user may bind any.
func (l *Launcher) tryAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() == roleBindings.name {
			continue
		}
		if err := l.try(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// applyInOrder applies objects, those up to the last Role first.
func (l *Launcher) applyInOrder(ctx context.Context, objects []*unstructured.Unstructured) ([]Change, error) {
	first := max(0, slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == roleBindings.name }))
	var out []Change
	for _, batch := range [][]*unstructured.Unstructured{objects[:first], objects[first:]} {
		// Force, which is off, would delete and recreate an object that cannot be changed, and a run with it.
		changes, err := l.apply.ApplyAll(ctx, slices.Clone(batch), ssa.DefaultApplyOptions())
		if err != nil {
			return nil, err
		}
		for _, entry := range changes.Entries {
			out = append(out, Change{Object: entry.Subject, Action: entry.Action.String()})
		}
	}
	return out, nil
}

// try lets the server check an object without taking it.
func (l *Launcher) try(ctx context.Context, object *unstructured.Unstructured) error {
	subject := id(object)
	_, existing, next, err := l.apply.Diff(ctx, object.DeepCopy(), ssa.DefaultDiffOptions())
	if err != nil {
		return refusal(subject, err)
	}
	return changed(subject, existing, next)
}

// explain makes errors that can be told from others of what the server says of kinds and namespaces that it does not have.
func explain(err error) error {
	if missing := (*meta.NoKindMatchError)(nil); errors.As(err, &missing) {
		return &MissingKindError{Kind: missing.GroupKind.Kind, Err: err}
	}
	if namespace := missingNamespace(err); namespace != "" {
		return &NoNamespaceError{Namespace: namespace}
	}
	return err
}

// missingNamespace is the namespace that the server says is not there, or "".
func missingNamespace(err error) string {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return ""
	}
	if details := status.Status().Details; details != nil && details.Kind == "namespaces" {
		return details.Name
	}
	return ""
}
