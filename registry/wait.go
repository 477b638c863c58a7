package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// Get waits for key and returns its value. It returns ErrFailed as soon as the run has failed, ErrForbidden when the
// role cannot read, and ctx's error together with what was last seen when ctx ends. A ConfigMap that is not there is
// waited for.
func (s *Store) Get(ctx context.Context, key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	value, err := s.wait(ctx, key)
	if err != nil {
		return "", fmt.Errorf("get %q: %w", key, err)
	}
	return value, nil
}

func (s *Store) wait(ctx context.Context, key string) (string, error) {
	leave := s.feed.enter(ctx)
	defer leave()
	last := fmt.Errorf("%s: nothing seen yet", s)
	for {
		now, changed := s.feed.now()
		if now != nil {
			value, err := s.learn(ctx, now, key)
			if err == nil || errors.Is(err, ErrFailed) || errors.Is(err, ErrForbidden) {
				return value, err
			}
			last = err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%w; last seen: %w", ctx.Err(), last)
		case <-changed:
		}
	}
}

// learn is what a waiter for key learns from one level of the ConfigMap.
func (s *Store) learn(ctx context.Context, level *kubeclient.Level[configMap], key string) (string, error) {
	switch {
	case level.Err != nil:
		return "", s.translate("watch", s.Name(), level.Err)
	case len(level.Items) == 0:
		return "", s.missing(s.Name())
	default:
		return s.lookup(ctx, &level.Items[0], key)
	}
}

func (s *Store) follow(ctx context.Context, on func(kubeclient.Level[configMap])) {
	query := kubeclient.Query{Resource: kubeclient.ConfigMaps, Name: s.Name()}
	kubeclient.Follow(ctx, s.client, query, func(level kubeclient.Level[configMap]) {
		for i := range level.Items {
			level.Items[i].prepare()
		}
		on(level)
	})
}
