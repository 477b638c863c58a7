package peerwatch

import (
	"context"
	"errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// peerSource is one peer: its object, and its pods, which may be known only from the object.
type peerSource struct {
	w   *Watcher
	i   int
	ref Ref
}

func (peerSource) explains() bool { return false }

func (s peerSource) object() watched[object] {
	return watched[object]{
		kubeclient.Query{Resource: s.ref.traits().resource, Name: s.ref.Name},
		func(obs *Observation, items []object, err error) {
			obs.change(s.i, func(c Peer) Peer { return c.foldObject(items, err, s.w.now()) })
		},
	}
}

func (s peerSource) pods(selector string) watched[pod] {
	return watched[pod]{
		kubeclient.Query{Resource: kubeclient.Pods, Labels: selector},
		func(obs *Observation, items []pod, err error) {
			obs.change(s.i, func(c Peer) Peer { return c.foldPods(items, err, s.w.now()) })
		},
	}
}

// follow sends the object first: its pods are judged by what it says.
func (s peerSource) follow(ctx context.Context, c *kubeclient.Client, send func(update)) {
	pods := podFollower{source: s, client: c, send: send}
	defer pods.stop()
	selector := s.ref.traits().selector
	pods.aim(ctx, selector(s.ref.Name, object{}))
	if s.ref.Kind == Pods {
		<-ctx.Done()
		return
	}
	objects := s.object()
	kubeclient.Follow(ctx, c, objects.query, func(level kubeclient.Level[object]) {
		send(objects.update(level.Items, level.Err))
		if level.Err == nil && len(level.Items) > 0 {
			pods.aim(ctx, selector(s.ref.Name, level.Items[0]))
		}
	})
}

// podFollower follows the pods of one selector at a time.
type podFollower struct {
	source   peerSource
	client   *kubeclient.Client
	send     func(update)
	selector string
	cancel   func()
	done     chan struct{}
}

func (f *podFollower) aim(ctx context.Context, selector string) {
	if selector == f.selector {
		return
	}
	f.stop()
	f.selector = selector
	if selector == "" {
		return
	}
	ctx, f.cancel = context.WithCancel(ctx)
	f.done = make(chan struct{})
	pods, done := f.source.pods(selector), f.done
	go func() {
		defer close(done)
		pods.follow(ctx, f.client, f.send)
	}()
}

func (f *podFollower) stop() {
	if f.cancel != nil {
		f.cancel()
		<-f.done
		f.cancel = nil
	}
}

// look reads the pods before the object, which may explain why they go, and again if the object has others by now.
func (s peerSource) look(ctx context.Context, c *kubeclient.Client, obs Observation) (Observation, error) {
	selector := obs.Peers[s.i].Selector
	obs, podsErr := s.lookAtPods(ctx, c, obs, selector)
	if s.ref.Kind == Pods {
		return obs, podsErr
	}
	obs, err := s.object().look(ctx, c, obs)
	if now := obs.Peers[s.i].Selector; now != selector {
		obs, podsErr = s.lookAtPods(ctx, c, obs, now)
	}
	return obs, errors.Join(podsErr, err)
}

func (s peerSource) lookAtPods(ctx context.Context, c *kubeclient.Client, obs Observation, selector string) (Observation, error) {
	if selector == "" {
		return obs, nil
	}
	return s.pods(selector).look(ctx, c, obs)
}
