package peerwatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// update brings one level into an observation.
type update func(Observation) Observation

// source is one thing that is watched, or read once.
type source interface {
	// follow sends an update for every level until ctx ends.
	follow(ctx context.Context, c *kubeclient.Client, send func(update))
	// look folds the level of now.
	look(ctx context.Context, c *kubeclient.Client, obs Observation) (Observation, error)
	// explains: what is seen elsewhere may follow from this, so nothing is decided without it.
	explains() bool
}

// watched is a query and the place of its result in an observation.
type watched[T any] struct {
	query kubeclient.Query
	fold  func(obs *Observation, items []T, err error)
}

func (s watched[T]) follow(ctx context.Context, c *kubeclient.Client, send func(update)) {
	kubeclient.Follow(ctx, c, s.query, func(level kubeclient.Level[T]) { send(s.update(level.Items, level.Err)) })
}

func (s watched[T]) look(ctx context.Context, c *kubeclient.Client, obs Observation) (Observation, error) {
	items, err := kubeclient.Look[T](ctx, c, s.query)
	if err != nil {
		return obs, err
	}
	return s.update(items, nil)(obs), nil
}

func (watched[T]) explains() bool { return false }

func (s watched[T]) update(items []T, err error) update {
	return func(obs Observation) Observation {
		s.fold(&obs, items, err)
		return obs
	}
}

// explaining is a source without which nothing is decided.
type explaining struct{ source }

func (explaining) explains() bool { return true }

// unwatched is a source that is only looked at.
type unwatched struct{ source }

func (unwatched) follow(context.Context, *kubeclient.Client, func(update)) {}

// sources are all things that this watcher watches. confirm reads them in this order, so that what went away is read
// before what may explain it: whoever takes a cluster down has first seen the driver complete, or reported an error.
func (w *Watcher) sources() []source {
	var list []source
	for i, ref := range w.refs() {
		list = append(list, peerSource{w, i, ref})
	}
	if w.cfg.Driver.Name != "" {
		list = append(list, explaining{driverSource(w.cfg.Driver)}, driverPods(w.cfg.Driver))
	}
	return append(list, explaining{watched[configMap]{
		kubeclient.Query{Resource: kubeclient.ConfigMaps, Name: w.store.Name()},
		func(obs *Observation, items []configMap, err error) { *obs = obs.foldRegistry(items, err, w.now()) },
	}})
}

func (w *Watcher) refs() []Ref { return append([]Ref{w.cfg.Self}, w.cfg.Peers...) }

func driverSource(ref Ref) source {
	return watched[object]{
		kubeclient.Query{Resource: ref.traits().resource, Name: ref.Name},
		func(obs *Observation, items []object, err error) { obs.Driver = obs.Driver.fold(items, err) },
	}
}

// driverPods are read only when something is to be confirmed: they say with which exit code the driver failed. Those of
// a RayJob are its submitter's.
func driverPods(ref Ref) source {
	selector := labelJob + "=" + ref.Name
	if ref.Kind == JobSet {
		selector = ref.traits().selector(ref.Name, object{})
	}
	return unwatched{watched[pod]{
		kubeclient.Query{Resource: kubeclient.Pods, Labels: selector},
		func(obs *Observation, items []pod, _ error) { obs.Driver.Pods = levels(items) },
	}}
}

// change replaces one cluster, in a copy: an Observation is a value.
func (o *Observation) change(i int, with func(Peer) Peer) {
	clusters := append([]Peer(nil), o.Peers...)
	clusters[i] = with(clusters[i])
	o.Peers = clusters
}

// observe watches everything until ctx ends. wait returns when all watches have stopped.
func (w *Watcher) observe(ctx context.Context) (updates <-chan update, wait func()) {
	out := make(chan update)
	send := func(u update) {
		select {
		case out <- u:
		case <-ctx.Done():
		}
	}
	var group sync.WaitGroup
	for _, s := range w.sources() {
		group.Go(func() { s.follow(ctx, w.client, send) })
	}
	return out, group.Wait
}

// confirmTimeout bounds the second look, confirmAgain is the pause after one that failed.
const (
	confirmTimeout = 10 * time.Second
	confirmAgain   = time.Second
)

// confirm looks at everything again, from the server and not from a watch that may lag, and decides on that. While the
// driver Job or the registry cannot be read the answer is Blind: they may explain what was seen.
func (w *Watcher) confirm(ctx context.Context, obs Observation) (Action, Observation) {
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	fresh, err := w.look(ctx, obs)
	action := Decide(w.cfg.Policy, fresh, w.now())
	if err != nil {
		reason := fmt.Sprintf("cannot confirm %q: %v", action.Reason, err)
		return Action{Kind: Blind, Reason: reason, At: w.now().Add(confirmAgain)}, obs
	}
	return action, fresh
}

// look reads everything once. What cannot be read stays as it was; an error tells that it may explain the rest.
func (w *Watcher) look(ctx context.Context, obs Observation) (Observation, error) {
	var problems []error
	for _, s := range w.sources() {
		fresh, err := s.look(ctx, w.client, obs)
		refused := apierrors.IsForbidden(err) && !w.server.lately()
		if err != nil && s.explains() && !refused {
			problems = append(problems, err)
		}
		obs = fresh
	}
	return obs, errors.Join(problems...)
}
