package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// GetNow reads key. It returns ErrFailed when the run has failed, ErrNotFound when the key is not there.
func (s *Store) GetNow(ctx context.Context, key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	cm, err := s.readRetrying(ctx)
	if err != nil {
		return "", fmt.Errorf("get %q: %w", key, err)
	}
	value, err := s.lookup(ctx, cm, key)
	if err != nil {
		return "", fmt.Errorf("get %q: %w", key, err)
	}
	return value, nil
}

// List reads all keys, sorted, the failure of the run among them.
func (s *Store) List(ctx context.Context) ([]Endpoint, error) {
	cm, err := s.readRetrying(ctx)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return s.see(ctx, cm, slices.Collect(maps.Keys(cm.Data))...).endpoints(), nil
}

// lookup is what a reader of key learns from cm.
func (s *Store) lookup(ctx context.Context, cm *configMap, key string) (string, error) {
	v := s.see(ctx, cm, key)
	if key != ErrorKey {
		if err := v.failure(); err != nil {
			return "", fmt.Errorf("%s: %w", s, err)
		}
	}
	if value, ok := v.value(key); ok && value != "" {
		return value, nil
	}
	return "", fmt.Errorf("%s: key %q: %w", s, key, ErrNotFound)
}

func (s *Store) readObject(ctx context.Context, name string) (*configMap, error) {
	var cm configMap
	if err := s.client.Get(ctx, kubeclient.ConfigMaps, name, &cm); err != nil {
		return nil, s.translate("get", name, err)
	}
	return &cm, nil
}

// readRetrying reads until the server answers or ctx ends.
func (s *Store) readRetrying(ctx context.Context) (*configMap, error) {
	var retry kubeclient.Backoff
	var refusals kubeclient.Refusals
	for {
		cm, err := s.readObject(ctx, s.Name())
		if mayPass := refusals.MayPass(err); err == nil || (!mayPass && !retryable(err)) {
			return cm, err
		}
		if ended := retry.Wait(ctx, err); ended != nil {
			return nil, fmt.Errorf("%w; last try: %w", ended, err)
		}
	}
}
