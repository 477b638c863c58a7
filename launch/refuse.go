package launch

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// refuse says why a run must not be applied over what is there: it has ended, is being removed, or has parts that its file no longer has.
func (l *Launcher) refuse(ctx context.Context, run *v1alpha1.Run, objects []*unstructured.Unstructured) error {
	status, err := l.Status(ctx, run.Metadata.Namespace, run.Metadata.Name)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case status.Phase == Removing:
		return &RemovingError{Name: status.Name}
	case status.Phase.Ended():
		return &EndedError{Name: status.Name, Phase: status.Phase, Reason: status.Reason}
	}
	return l.refuseForeign(ctx, run, status.Backend, objects)
}

// refuseForeign looks for objects of the run that are not among those to apply. Left alone they would be a second copy of the run.
func (l *Launcher) refuseForeign(ctx context.Context, run *v1alpha1.Run, was v1alpha1.Backend, objects []*unstructured.Unstructured) error {
	known := map[string]bool{}
	for _, object := range objects {
		known[object.GetKind()+"/"+object.GetName()] = true
	}
	var foreign []string
	for _, s := range stages { // workloads first: they are what a user knows
		for _, k := range l.served(s.remove) {
			items, err := l.list(ctx, k, run.Metadata.Namespace, run.Metadata.Name)
			if missing := (*MissingKindError)(nil); errors.As(err, &missing) {
				continue
			}
			if err != nil {
				return err
			}
			for _, item := range items {
				if id := k.name + "/" + item.GetName(); !known[id] && metav1.GetControllerOf(&item) == nil {
					foreign = append(foreign, id)
				}
			}
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	other := &OtherShapeError{Name: run.Metadata.Name, Object: foreign[0], More: len(foreign) - 1}
	if was != run.Spec.Backend {
		other.Backend = was
	}
	return other
}

// OtherShapeError refuses to bring up a run beside objects of the same run that its file does not make.
type OtherShapeError struct {
	Name   string
	Object string // Kind/name of the first
	More   int
	// Backend is what the run was brought up with, where that is another than the file's.
	Backend v1alpha1.Backend
}

func (e *OtherShapeError) Error() string {
	text := fmt.Sprintf("run %s is under way with %s", e.Name, e.Object)
	if e.More > 0 {
		text += fmt.Sprintf(" and %d more", e.More)
	}
	text += ", which this file does not have"
	if e.Backend != "" {
		text += fmt.Sprintf(" (backend was %s)", e.Backend)
	}
	return text
}
