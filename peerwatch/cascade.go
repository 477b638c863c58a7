package peerwatch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
	"github.com/tandem-rl/tandem/registry"
)

// Step is one step of a cascade. Err is nil once it is confirmed.
type Step struct {
	Name string
	Err  error
}

// cascade takes the run down. Each step has its own deadline and none stops the others. The watcher's own cluster
// comes last, because it takes the watcher with it.
func (w *Watcher) cascade(ctx context.Context, action Action, obs Observation) []Step {
	var steps []Step
	if action.Kind == Fail {
		steps = append(steps, w.step(ctx, "report the error", func(ctx context.Context) error {
			return w.reportError(ctx, action.Reason)
		}))
	}
	steps = append(steps, w.deletePeers(ctx, obs)...)
	if d := obs.Driver; action.Kind == Fail && d.Present && d.Condition == "" {
		steps = append(steps, w.deleteStep(ctx, kubeclient.Jobs, d.Name, d.UID))
	}
	for _, c := range obs.Clusters {
		if c.Self {
			steps = append(steps, w.deleteStep(ctx, kubeclient.RayClusters, c.Name, c.UID))
		}
	}
	return steps
}

// deletePeers deletes them side by side: one that does not answer must not keep another alive.
func (w *Watcher) deletePeers(ctx context.Context, obs Observation) []Step {
	var peers []Cluster
	for _, c := range obs.Clusters {
		if !c.Self {
			peers = append(peers, c)
		}
	}
	steps := make([]Step, len(peers))
	var group sync.WaitGroup
	for i, c := range peers {
		group.Go(func() { steps[i] = w.deleteStep(ctx, kubeclient.RayClusters, c.Name, c.UID) })
	}
	group.Wait()
	return steps
}

// reportError is done as well when there is nobody to report to: `tandem down` removes the registry first.
func (w *Watcher) reportError(ctx context.Context, reason string) error {
	err := w.store.Fail(ctx, reason)
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

func (w *Watcher) step(ctx context.Context, name string, do func(context.Context) error) Step {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.StepTimeout)
	defer cancel()
	err := do(ctx)
	// Logged at once, although it is returned too: the last step ends the pod that this runs in.
	if err != nil {
		klog.FromContext(ctx).Error(err, "cascade step not confirmed", "step", name)
	} else {
		klog.FromContext(ctx).Info("cascade step done", "step", name)
	}
	return Step{Name: name, Err: err}
}

func (w *Watcher) deleteStep(ctx context.Context, r kubeclient.Resource, name, uid string) Step {
	return w.step(ctx, "delete "+r.String()+" "+name, func(ctx context.Context) error {
		return w.remove(ctx, r, name, uid)
	})
}

// remove deletes one object and tries until that is confirmed: it is gone, or it is being deleted and waits for
// others' finalizers only. With a uid, an object of that name that is not ours is left alone.
func (w *Watcher) remove(ctx context.Context, r kubeclient.Resource, name, uid string) error {
	var retry kubeclient.Backoff
	for {
		done, err := w.tryRemove(ctx, r, name, uid)
		if done {
			return err
		}
		if ended := retry.Wait(ctx, err); ended != nil {
			return fmt.Errorf("%w; last try: %w", ended, err)
		}
	}
}

func (w *Watcher) tryRemove(ctx context.Context, r kubeclient.Resource, name, uid string) (done bool, err error) {
	err = w.client.Delete(ctx, r, name, uid)
	switch {
	case kubeclient.IsObjectNotFound(err, name), apierrors.IsConflict(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return true, fmt.Errorf("the role needs verb %q on %s with resourceNames [%s]: %w", "delete", r, name, err)
	case err != nil:
		return false, err
	}
	return w.removed(ctx, r, name)
}

var errStillThere = errors.New("still there")

// removed confirms a deletion that the server has accepted.
func (w *Watcher) removed(ctx context.Context, r kubeclient.Resource, name string) (done bool, err error) {
	var object struct {
		Metadata objectMeta `json:"metadata"`
	}
	err = w.client.Get(ctx, r, name, &object)
	switch {
	case kubeclient.IsObjectNotFound(err, name):
		return true, nil
	case err != nil:
		return false, err
	case object.Metadata.deleting():
		return true, nil
	}
	return false, errStillThere
}
