package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/registry"
	"github.com/tandem-rl/tandem/test/podclient"
)

// site is one run: its ConfigMaps and its pods.
type site struct {
	*bench
	cfg   registry.Config
	fleet *podclient.Fleet
}

// newSite makes the ConfigMaps of one more run, as `tandem up` does.
func (b *bench) newSite(ctx context.Context, shards int) (*site, error) {
	b.sites++
	cfg := registry.Config{Run: fmt.Sprintf("run-%d", b.sites), Namespace: b.namespace, Shards: shards}
	s := &site{bench: b, cfg: cfg, fleet: &podclient.Fleet{}}
	for _, name := range s.objects() {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := b.maps.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *site) objects() []string { return append([]string{s.cfg.Name()}, s.cfg.ShardNames()...) }

func (s *site) remove(ctx context.Context) error {
	for _, name := range s.objects() {
		if err := s.maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// data is what a client reads that knows only the run's ConfigMap.
func (s *site) data(ctx context.Context) (map[string]string, error) {
	cm, err := s.maps.Get(ctx, s.cfg.Name(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return cm.Data, nil
}

// newPod is the configuration of one more pod.
func (s *site) newPod() *rest.Config { return s.fleet.Pod(s.pod) }

// newPublisher is the store of pod i, its connection open.
func (s *site) newPublisher(ctx context.Context, i int) (*registry.Store, error) {
	cfg := s.cfg
	cfg.Publisher = registry.Publisher{Pod: fmt.Sprintf("%s-worker-%d", cfg.Run, i), UID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i)}
	store, err := registry.New(cfg, s.newPod())
	if err != nil {
		return nil, err
	}
	return store, open(ctx, store)
}

// newReader is a store that knows only the run's ConfigMap.
func (s *site) newReader(ctx context.Context) (*registry.Store, error) {
	cfg := s.cfg
	cfg.Shards = 0
	store, err := registry.New(cfg, s.newPod())
	if err != nil {
		return nil, err
	}
	return store, open(ctx, store)
}

// open asks for a key that is not there, so that the connection exists.
func open(ctx context.Context, store *registry.Store) error {
	_, err := store.GetNow(ctx, "nothing")
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("open the connection: %w", err)
}
