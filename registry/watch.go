package registry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// Watch yields the endpoints of keys (of all keys, if none is named) at once and after every change of them, sorted.
// The loop ends after an error: ErrFailed as soon as the run has failed, ErrForbidden, ErrBadKey, or ctx's error.
// A ConfigMap that is not there, or a server that is away, is waited for.
//
//	for endpoints, err := range store.Watch(ctx, "vllm_base_urls") {
func (s *Store) Watch(ctx context.Context, keys ...string) iter.Seq2[[]Endpoint, error] {
	return func(yield func([]Endpoint, error) bool) {
		if err := s.watch(ctx, keys, func(list []Endpoint) bool { return yield(list, nil) }); err != nil {
			yield(nil, fmt.Errorf("watch: %w", err))
		}
	}
}

// watch returns nil when yield has had enough.
func (s *Store) watch(ctx context.Context, keys []string, yield func([]Endpoint) bool) error {
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	leave := s.feed.enter(ctx)
	defer leave()
	var told []Endpoint
	for first := true; ; {
		now, changed := s.feed.now()
		if now != nil {
			list, err := s.seeAll(ctx, now, keys)
			switch {
			case errors.Is(err, ErrFailed), errors.Is(err, ErrForbidden):
				return err
			case err == nil && (first || !slices.EqualFunc(told, list, Endpoint.equal)):
				first, told = false, list
				if !yield(list) {
					return nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", s, ctx.Err())
		case <-changed:
		}
	}
}

// seeAll is what a watcher of keys learns from one level of the ConfigMap.
func (s *Store) seeAll(ctx context.Context, level *kubeclient.Level[configMap], keys []string) ([]Endpoint, error) {
	if level.Err != nil {
		return nil, s.translate("watch", s.Name(), level.Err)
	}
	if len(level.Items) == 0 {
		return nil, s.missing(s.Name())
	}
	cm := &level.Items[0]
	if len(keys) == 0 {
		keys = slices.Collect(maps.Keys(cm.Data))
	}
	v := s.see(ctx, cm, keys...)
	if err := v.failure(); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return slices.DeleteFunc(v.endpoints(), func(e Endpoint) bool { return !slices.Contains(keys, e.Key) }), nil
}

func (e Endpoint) equal(other Endpoint) bool {
	return e.Key == other.Key && e.Value == other.Value && slices.Equal(e.Publishers, other.Publishers)
}
