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
	follow(ctx context.Context, c *kubeclient.Client, send func(update))
	look(ctx context.Context, c *kubeclient.Client) (update, error)
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

func (s watched[T]) look(ctx context.Context, c *kubeclient.Client) (update, error) {
	items, err := kubeclient.Look[T](ctx, c, s.query)
	return s.update(items, err), err
}

func (s watched[T]) explains() bool {
	return s.query.Resource == kubeclient.Jobs || s.query.Resource == kubeclient.ConfigMaps
}

func (s watched[T]) update(items []T, err error) update {
	return func(obs Observation) Observation {
		s.fold(&obs, items, err)
		return obs
	}
}

// sources are all things that this watcher watches. confirm reads them in this order, so that what went away is read
// before what may explain it: whoever takes a cluster down has first seen the driver complete, or reported an error.
func (w *Watcher) sources() []source {
	var list []source
	for i, name := range append([]string{w.cfg.Self}, w.cfg.Peers...) {
		list = append(list, w.podSource(i, name), w.clusterSource(i, name)) // a suspension explains why pods go
	}
	if w.cfg.Driver != "" {
		list = append(list, driverSource(w.cfg.Driver), driverPods(w.cfg.Driver))
	}
	return append(list, watched[configMap]{
		kubeclient.Query{Resource: kubeclient.ConfigMaps, Name: w.store.Name()},
		func(obs *Observation, items []configMap, err error) { obs.Registry = obs.Registry.fold(items, err) },
	})
}

func (w *Watcher) clusterSource(i int, name string) source {
	return watched[rayCluster]{
		kubeclient.Query{Resource: kubeclient.RayClusters, Name: name},
		func(obs *Observation, items []rayCluster, err error) {
			obs.change(i, func(c Cluster) Cluster { return c.foldObject(items, err, w.now()) })
		},
	}
}

func (w *Watcher) podSource(i int, name string) source {
	return watched[pod]{
		kubeclient.Query{Resource: kubeclient.Pods, Labels: labelCluster + "=" + name},
		func(obs *Observation, items []pod, err error) {
			obs.change(i, func(c Cluster) Cluster { return c.foldPods(items, err, w.now()) })
		},
	}
}

func driverSource(name string) source {
	return watched[job]{
		kubeclient.Query{Resource: kubeclient.Jobs, Name: name},
		func(obs *Observation, items []job, err error) { obs.Driver = obs.Driver.fold(items, err) },
	}
}

// driverPods are read only when something is to be confirmed: they say with which exit code the driver failed.
func driverPods(name string) source {
	return unwatched{watched[pod]{
		kubeclient.Query{Resource: kubeclient.Pods, Labels: "batch.kubernetes.io/job-name=" + name},
		func(obs *Observation, items []pod, _ error) { obs.Driver.Pods = levels(items) },
	}}
}

// unwatched is a source that is only looked at.
type unwatched struct{ source }

func (unwatched) follow(context.Context, *kubeclient.Client, func(update)) {}

// change replaces one cluster, in a copy: an Observation is a value.
func (o *Observation) change(i int, with func(Cluster) Cluster) {
	clusters := append([]Cluster(nil), o.Clusters...)
	clusters[i] = with(clusters[i])
	o.Clusters = clusters
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
		fold, err := s.look(ctx, w.client)
		if err == nil {
			obs = fold(obs)
		} else if s.explains() && !apierrors.IsForbidden(err) {
			problems = append(problems, err)
		}
	}
	return obs, errors.Join(problems...)
}
