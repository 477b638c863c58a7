package registry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// removingAnnotation is what `tandem down` puts on the run's ConfigMap before it removes anything; see package v1alpha1.
const removingAnnotation = "tandem.dev/removing"

// AwaitLoss waits until the run's ConfigMap has lacked key, or member of the list key unless member is empty, for as long
// as lasting, though this store may write it: the ConfigMap is there, is not being removed, and is not another
// incarnation's. A key that somebody else wrote is not lost. With shards it also lacks what has not been folded yet. It
// returns ctx's error when ctx ends.
func (s *Store) AwaitLoss(ctx context.Context, key, member string, lasting time.Duration) error {
	if err := checkKey(key); err != nil {
		return fmt.Errorf("await loss: %w", err)
	}
	leave := s.feed.enter(ctx)
	defer leave()
	lasted := time.NewTimer(lasting)
	defer lasted.Stop()
	for wasLost := false; ; {
		now, changed := s.feed.now()
		isLost := now != nil && s.lost(now, key, member)
		if isLost && !wasLost {
			lasted.Reset(lasting)
		}
		if !isLost {
			lasted.Stop()
		}
		wasLost = isLost
		select {
		case <-ctx.Done():
			return fmt.Errorf("await loss of %q: %s: %w", key, s, ctx.Err())
		case <-lasted.C:
			return nil
		case <-changed:
		}
	}
}

func (s *Store) lost(level *kubeclient.Level[configMap], key, member string) bool {
	if level.Err != nil || len(level.Items) == 0 {
		return false
	}
	cm := &level.Items[0]
	if cm.Metadata.Annotations[removingAnnotation] != "" || cm.admits(s.cfg.Incarnation) != nil {
		return false
	}
	value, there := cm.seenBy(s.cfg.Incarnation).value(key)
	if !there || member == "" {
		return !there
	}
	members, err := decodeMembers(key, value)
	return err == nil && !slices.Contains(members, member)
}
