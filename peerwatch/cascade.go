package peerwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
	"github.com/tandem-rl/tandem/registry"
)

// StepKind is one of a closed set.
type StepKind string

// The kinds of Step.
const (
	StepReport     StepKind = "report"
	StepEvent      StepKind = "event"
	StepPostMortem StepKind = "post-mortem"
	StepDelete     StepKind = "delete"
	StepSuspend    StepKind = "suspend"
	StepResume     StepKind = "resume"
	StepRestart    StepKind = "restart"
	StepReset      StepKind = "reset"
)

// Step is one step of a cascade. Err is nil once it is confirmed.
type Step struct {
	Kind StepKind
	Name string
	Err  error
	// Optional: it only tells people something. The cascade is whole without it.
	Optional bool
}

// task is a step that is still to be done, and how long it may take.
type task struct {
	kind     StepKind
	name     string
	optional bool
	timeout  time.Duration
	do       func(context.Context) error
}

// cascade takes the run down. Each step has its own deadline and none stops the others. The watcher's own cluster
// comes last, because it takes the watcher with it.
func (w *Watcher) cascade(ctx context.Context, action Action, obs Observation) []Step {
	steps := w.tell(ctx, action, obs)
	var peers, self []task
	for _, c := range obs.Peers {
		switch {
		case c.keeps(obs.Driver):
		case c.Self:
			self = append(self, w.deletions(c)...)
		default:
			peers = append(peers, w.deletions(c)...)
		}
	}
	steps = append(steps, w.atOnce(ctx, peers)...) // one that does not answer must not keep another alive
	if d := obs.Driver; d.Name != "" && action.Kind == Fail && d.Present && d.Condition == "" && !slices.Contains(w.refs(), d.Ref) {
		steps = append(steps, w.step(ctx, w.deletion(d.traits().resource, d.Name, d.UID)))
	}
	return append(steps, w.atOnce(ctx, self)...)
}

// keeps: a driver that has ended is kept, since it says how the run went, unless it keeps its pods in turn.
func (c Peer) keeps(d Driver) bool { return c.Ref == d.Ref && d.Condition != "" && !d.Holds }

// deletions are of the object, or of each pod of a set.
func (w *Watcher) deletions(c Peer) []task {
	if c.Kind != Pods {
		return []task{w.deletion(c.traits().resource, c.Name, c.UID)}
	}
	var tasks []task
	for _, pod := range c.Workers {
		tasks = append(tasks, w.deletion(kubeclient.Pods, pod.Name, pod.UID))
	}
	return tasks
}

// tellTimeout bounds what is only said to people: it must not keep GPUs held.
const tellTimeout = 2 * time.Second

// tell says why, in all places side by side.
func (w *Watcher) tell(ctx context.Context, action Action, obs Observation) []Step {
	var tasks []task
	if action.Kind != Succeed && action.Kind != RestartRun {
		tasks = append(tasks, w.reporting(action.Reason))
	}
	if action.Kind != Succeed {
		tasks = append(tasks, task{kind: StepPostMortem, name: "save the post-mortem", optional: true, timeout: tellTimeout, do: func(ctx context.Context) error {
			return w.postMortem(ctx, action, obs)
		}})
	}
	for _, c := range obs.Peers {
		for _, e := range w.events(action, c) {
			tasks = append(tasks, task{kind: StepEvent, name: "event on " + e.Regarding.Name, optional: true, timeout: tellTimeout, do: func(ctx context.Context) error {
				return w.emit(ctx, e)
			}})
		}
	}
	return w.atOnce(ctx, tasks)
}

// atOnce does all tasks side by side, and returns when all have ended.
func (w *Watcher) atOnce(ctx context.Context, tasks []task) []Step {
	steps := make([]Step, len(tasks))
	forEach(len(tasks), func(i int) { steps[i] = w.step(ctx, tasks[i]) })
	return steps
}

// forEach calls do for 0 to n-1 side by side, and returns when all calls have.
func forEach(n int, do func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { do(i) })
	}
	group.Wait()
}

func (w *Watcher) reporting(reason string) task {
	return task{kind: StepReport, name: "report the error", timeout: w.cfg.StepTimeout, do: func(ctx context.Context) error {
		return w.persist(ctx, func() (done bool, err error) { return true, w.reportError(ctx, reason) })
	}}
}

// reportError is done as well when there is nobody to report to: `tandem down` removes the registry first.
func (w *Watcher) reportError(ctx context.Context, reason string) error {
	err := w.store.Fail(ctx, reason)
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return err
}

func (w *Watcher) step(ctx context.Context, t task) Step {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	err := t.do(ctx)
	// Logged at once, although it is returned too: the last step ends the pod that this runs in.
	if err != nil {
		klog.FromContext(ctx).Error(err, "cascade step not confirmed", "step", t.name)
	} else {
		klog.FromContext(ctx).Info("cascade step done", "step", t.name)
	}
	step := Step{Kind: t.kind, Name: t.name, Err: err, Optional: t.optional}
	w.cfg.Observer.Did(step)
	return step
}

func (w *Watcher) deletion(r kubeclient.Resource, name, uid string) task {
	return task{kind: StepDelete, name: "delete " + r.String() + " " + name, timeout: w.cfg.StepTimeout, do: func(ctx context.Context) error {
		return w.remove(ctx, r, name, uid)
	}}
}

// remove deletes one object and tries until that is confirmed: it is gone, or it is being deleted and waits for
// others' finalizers only. With a uid, an object of that name that is not ours is left alone.
func (w *Watcher) remove(ctx context.Context, r kubeclient.Resource, name, uid string) error {
	return w.persist(ctx, func() (done bool, err error) { return w.tryRemove(ctx, r, name, uid) })
}

// persist tries until try is done or ctx ends. A refusal ends it too, unless it may pass.
func (w *Watcher) persist(ctx context.Context, try func() (done bool, err error)) error {
	var retry kubeclient.Backoff
	var refusals kubeclient.Refusals
	for {
		done, err := try()
		mayPass := refusals.MayPass(err) || w.server.mayPass(err)
		if done && !mayPass {
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
		return true, missing("delete", r, name, err)
	case err != nil:
		return false, err
	}
	return w.removed(ctx, r, name)
}

// missing names the rule that the role lacks. Pods cannot be named in it.
func missing(verb string, r kubeclient.Resource, name string, err error) error {
	if r == kubeclient.Pods {
		return fmt.Errorf("pod %s: the role needs verb %q on %s: %w", name, verb, r, err)
	}
	return fmt.Errorf("the role needs verb %q on %s with resourceNames [%s]: %w", verb, r, name, err)
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
