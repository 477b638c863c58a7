package reap

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// act does what was decided: books it, excludes nodes, tells people, and deletes. What is not in the book is not done, so
// that the budgets hold whatever happens after. It returns what could not be done.
func (r *Reaper) act(ctx context.Context, obs Observation, actions []Action) []error {
	if r.cfg.DryRun || obs.BookBlind != "" {
		return nil
	}
	book, err := r.enter(ctx, obs.Book, actions)
	if apierrors.IsConflict(err) {
		return nil // another reaper was first; the next look reads what it did
	}
	if err != nil {
		return []error{fmt.Errorf("book: %w", err)}
	}
	problems := r.exclude(ctx, book, actions)
	for _, action := range actions {
		if err := r.tell(ctx, action); err != nil {
			problems = append(problems, err)
		}
		if action.Kind == Delete {
			if err := r.remove(ctx, action.Pod); err != nil {
				problems = append(problems, err)
			}
		}
	}
	return problems
}

// enter writes the actions into the book. It writes nothing if the book says all of it.
func (r *Reaper) enter(ctx context.Context, old Book, actions []Action) (Book, error) {
	book := old
	for _, action := range actions {
		book = book.after(action, r.now())
	}
	if book.same(old) {
		return old, nil
	}
	return r.write(ctx, old, book.forget(r.cfg.Policy.memory(), r.now()))
}

// write replaces old by book, unless somebody else has written in between.
func (r *Reaper) write(ctx context.Context, old, book Book) (Book, error) {
	patch, err := book.patch(old)
	if err != nil {
		return old, err
	}
	var cm configMap
	err = explain(r.client.MergePatch(ctx, kubeclient.ConfigMaps, r.cfg.Book, patch, &cm), "patch", r.bookRule())
	if !apierrors.IsConflict(err) {
		r.did(ctx, StepBook, "write the book", err)
	}
	if err != nil {
		return old, err
	}
	return openBook(cm)
}

// exclude puts the taint on nodes, if that is the policy, and books that.
func (r *Reaper) exclude(ctx context.Context, book Book, actions []Action) (problems []error) {
	if r.cfg.Policy.Exclude != ExcludeTaint {
		return nil
	}
	tainted := book
	var nodes []string
	for _, action := range actions {
		if name := action.Pod.Node; action.Kind == Exclude && !slices.Contains(nodes, name) {
			nodes = append(nodes, name)
			err := r.taint(ctx, name)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			tainted = tainted.withTaint(name)
		}
	}
	if tainted.same(book) {
		return problems
	}
	if _, err := r.write(ctx, book, tainted); err != nil && !apierrors.IsConflict(err) {
		problems = append(problems, fmt.Errorf("book: %w", err))
	}
	return problems
}

// taint counts a node that has gone as done, and a conflict as to be done again.
func (r *Reaper) taint(ctx context.Context, name string) error {
	err := r.api.taint(ctx, name)
	if kubeclient.IsObjectNotFound(err, name) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("taint node %s: %w", name, explain(err, "get and patch", "nodes (a ClusterRole)"))
	}
	r.did(ctx, StepTaint, "taint node "+name, err)
	return err
}

// remove deletes this very incarnation of a pod. That it has gone, or been made again, is as good.
func (r *Reaper) remove(ctx context.Context, pod Pod) error {
	err := r.client.Delete(ctx, kubeclient.Pods, pod.Name, pod.UID)
	if kubeclient.IsObjectNotFound(err, pod.Name) || apierrors.IsConflict(err) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("delete pod %s: %w", pod.Name, explain(err, "delete", kubeclient.Pods.String()))
	}
	r.did(ctx, StepDelete, "delete pod "+pod.Name, err)
	return err
}

// did logs what was done, and tells the observer. Errors are returned by the caller and logged with the look's others.
func (r *Reaper) did(ctx context.Context, kind StepKind, name string, err error) {
	if err == nil {
		klog.FromContext(ctx).V(1).Info("done", "step", name)
	}
	r.cfg.Observer.Did(Step{Kind: kind, Name: name, Err: err})
}
