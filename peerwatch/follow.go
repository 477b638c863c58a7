package peerwatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// SuspendedWithAnnotation is on what a watcher suspended because another part of the run was, and names that. What is
// suspended without it is so by somebody's wish.
const SuspendedWithAnnotation = "tandem.dev/suspended-with"

// Wish is what the object of a peer or of the driver says about its suspension.
type Wish struct {
	Ref
	// Version is the object's resourceVersion, empty while there is no object that can be suspended.
	Version string
	// Suspend is spec.suspend; With is the annotation.
	Suspend bool
	With    string
}

// own: somebody wants it. A suspension that only follows another is no wish.
func (w Wish) own() bool { return w.Suspend && w.With == "" }

// wish of an object that may be suspended; otherwise there is none.
func (r Ref) wish(o object, ended JobCondition) Wish {
	w := Wish{Ref: r, Suspend: o.Spec.Suspend, With: o.Metadata.Annotations[SuspendedWithAnnotation]}
	if r.suspends(o) && ended == "" && !o.Metadata.deleting() {
		w.Version = o.Metadata.ResourceVersion
	}
	return w
}

// suspends: KubeRay takes a suspended RayJob that keeps its cluster, or uses another's, for invalid and fails it.
func (r Ref) suspends(o object) bool {
	if r.Kind == RayJob && (!o.Spec.ShutdownAfterJobFinishes || len(o.Spec.ClusterSelector) > 0) {
		return false
	}
	return r.traits().suspends
}

// wishes are those of all that can be suspended, the driver's first, which would notice that clusters go, and the
// watcher's own last.
func (o Observation) wishes() []Wish {
	var driver, peers, self []Wish
	if o.Driver.Present {
		driver = append(driver, o.Driver.Wish)
	}
	for _, c := range o.Peers {
		switch {
		case !c.Present:
		case c.Self:
			self = append(self, c.Wish)
			driver = slices.DeleteFunc(driver, func(w Wish) bool { return w.Ref == c.Ref })
		case c.Ref == o.Driver.Ref:
		default:
			peers = append(peers, c.Wish)
		}
	}
	return slices.DeleteFunc(slices.Concat(driver, peers, self), func(w Wish) bool { return w.Version == "" })
}

// follow decides whether the suspension of one is to become, or to cease to be, that of all. It is a pure function. To
// resume it must see everything: who cannot be seen may still want the suspension.
func follow(p Policy, obs Observation) *Action {
	if p.OnSuspend != SuspendFollow {
		return nil
	}
	first, changes := obs.following()
	switch {
	case len(changes) == 0:
		return nil
	case first != "":
		return &Action{Kind: Suspend, Reason: fmt.Sprintf("%s is suspended, so %s", first, list(changes))}
	case len(obs.blindSpots()) > 0:
		return nil
	}
	return &Action{Kind: Resume, Reason: fmt.Sprintf("nobody wants a suspension any more, so %s", list(changes))}
}

// following returns who is suspended by somebody's wish, empty if nobody is, and what is not as it should be then.
func (o Observation) following() (first string, changes []Wish) {
	wishes := o.wishes()
	for _, w := range wishes {
		if w.own() && first == "" {
			first = w.Ref.String()
		}
	}
	for _, w := range wishes {
		if first != "" && !w.Suspend || first == "" && w.Suspend {
			changes = append(changes, w)
		}
	}
	return first, changes
}

func list(changes []Wish) string {
	names := make([]string, len(changes))
	for i, w := range changes {
		names[i] = w.Ref.String()
	}
	verb := " follow"
	if len(names) == 1 {
		verb += "s"
	}
	return strings.Join(names, ", ") + verb
}

// align makes everything follow, one after the other. It is done again until it is seen to be so.
func (w *Watcher) align(ctx context.Context, obs Observation) {
	first, changes := obs.following()
	for _, wish := range changes {
		kind, verb := StepSuspend, "suspend "
		if first == "" {
			kind, verb = StepResume, "resume "
		}
		w.step(ctx, task{kind: kind, name: verb + wish.Ref.String(), timeout: w.cfg.StepTimeout, do: func(ctx context.Context) error {
			return w.persist(ctx, func() (done bool, err error) { return w.trySuspend(ctx, wish, first) })
		}})
	}
}

// trySuspend writes only if the object is as it was seen: a wish that came meanwhile is not overwritten.
func (w *Watcher) trySuspend(ctx context.Context, wish Wish, first string) (done bool, err error) {
	var with *string
	if first != "" {
		with = &first
	}
	resource := wish.traits().resource
	err = w.client.MergePatch(ctx, resource, wish.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": wish.Version, "annotations": map[string]*string{SuspendedWithAnnotation: with}},
		"spec":     map[string]any{"suspend": first != ""},
	}, nil)
	switch {
	case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return true, missing("patch", resource, wish.Name, err)
	}
	return !kubeclient.Retryable(err), fmt.Errorf("%s: %w", wish.Ref, err)
}
