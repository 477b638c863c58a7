package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// Change is what Up did to one object.
type Change struct {
	Object string // Kind/namespace/name
	Action string // created, configured, unchanged
}

// Up applies a run. Nothing is created unless the server accepts every object. Up may be repeated while the run lives; a run that has
// ended is refused with an *EndedError, a cluster without the run's kinds with a *MissingKindError.
func (l *Launcher) Up(ctx context.Context, run *v1alpha1.Run) ([]Change, error) {
	objects, err := manifests.Render(run)
	if err != nil {
		return nil, err
	}
	if err := l.refuseEnded(ctx, run); err != nil {
		return nil, err
	}
	// Force would delete and recreate an object that cannot be changed, and a run with it.
	changes, err := l.apply.ApplyAll(ctx, slices.Clone(objects), ssa.DefaultApplyOptions())
	if err != nil {
		return nil, fmt.Errorf("applying run %s/%s: %w", run.Metadata.Namespace, run.Metadata.Name, explain(err))
	}
	out := make([]Change, len(changes.Entries))
	for i, entry := range changes.Entries {
		out[i] = Change{Object: entry.Subject, Action: entry.Action.String()}
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
