package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/ssa"
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
// Roles are there). Up may be repeated while the run lives; a run that has ended is refused with an *EndedError, a cluster without the
// run's kinds with a *MissingKindError.
func (l *Launcher) Up(ctx context.Context, run *v1alpha1.Run) ([]Change, error) {
	objects, err := manifests.Render(run)
	if err != nil {
		return nil, err
	}
	if err := l.refuseEnded(ctx, run); err != nil {
		return nil, err
	}
	changes, err := l.applyAll(ctx, objects)
	if err != nil {
		return nil, fmt.Errorf("applying run %s/%s: %w", run.Metadata.Namespace, run.Metadata.Name, explain(err))
	}
	return changes, nil
}

// applyAll tries every object, then applies them, up to the last Role first. A RoleBinding is not tried: to know that its user has the
// rights that it gives, the server looks for the Role, unless that user may bind any.
func (l *Launcher) applyAll(ctx context.Context, objects []*unstructured.Unstructured) ([]Change, error) {
	for _, object := range objects {
		if object.GetKind() == roleBindings.name {
			continue
		}
		if _, _, _, err := l.apply.Diff(ctx, object.DeepCopy(), ssa.DefaultDiffOptions()); err != nil {
			return nil, err
		}
	}
	first := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == roleBindings.name })
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

func (l *Launcher) refuseEnded(ctx context.Context, run *v1alpha1.Run) error {
	status, err := l.Status(ctx, run.Metadata.Namespace, run.Metadata.Name)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case status.Phase.Ended():
		return &EndedError{Name: status.Name, Phase: status.Phase, Reason: status.Reason}
	}
	return nil
}

// explain turns "no matches for kind" into an error that can be told from others.
func explain(err error) error {
	if missing := (*meta.NoKindMatchError)(nil); errors.As(err, &missing) {
		return &MissingKindError{Kind: missing.GroupKind.Kind, Err: err}
	}
	return err
}
