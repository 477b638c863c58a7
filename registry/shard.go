package registry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"k8s.io/client-go/rest"
)

// MaxShards is the largest number of shards of a run.
const MaxShards = 128

// Up to plainPublishers a run has no shards; above, about publishersPerShard share one.
const (
	plainPublishers    = 16
	publishersPerShard = 4
)

// Shards is the number of shards of a run with that many publishers: none up to 16, then one for every four, at most
// [MaxShards].
func Shards(publishers int) int {
	if publishers <= plainPublishers {
		return 0
	}
	return min(MaxShards, (publishers+publishersPerShard-1)/publishersPerShard)
}

// ShardsAnnotation of the run's ConfigMap holds its number of shards, for tools that have not been told.
const ShardsAnnotation = "tandem.dev/registry-shards"

// Open is New with the number of shards that the run's ConfigMap names. It sends one request.
func Open(ctx context.Context, cfg Config, restConfig *rest.Config) (*Store, error) {
	store, err := New(cfg, restConfig)
	if err != nil {
		return nil, err
	}
	cm, err := store.readRetrying(ctx)
	if err != nil {
		return nil, fmt.Errorf("shards: %w", err)
	}
	text := cm.Metadata.Annotations[ShardsAnnotation]
	if text == "" {
		return store, nil
	}
	if cfg.Shards, err = strconv.Atoi(text); err != nil {
		return nil, fmt.Errorf("%s: annotation %s: %w", store, ShardsAnnotation, err)
	}
	return New(cfg, restConfig)
}

// ShardName is the name of shard i. The dot keeps it apart from the ConfigMap of a run that is called "<run>-shard-0".
func (c Config) ShardName(i int) string { return c.Name() + ".shard-" + strconv.Itoa(i) }

// ShardNames are the ConfigMaps that have to exist beside the run's own.
func (c Config) ShardNames() []string {
	names := make([]string, c.Shards)
	for i := range names {
		names[i] = c.ShardName(i)
	}
	return names
}

// home is the shard of a key, or of one member of a list. Everything that is said about either meets in one object, so
// the last writer of a key is the same as without shards, whichever pods write it.
func (c Config) home(key, member string) int {
	sum := sha256.Sum256([]byte(key + "\x00" + member))
	return int(binary.BigEndian.Uint64(sum[:]) % uint64(c.Shards))
}

// place is the ConfigMap to which key, or member of the list key, is written.
func (c Config) place(key, member string) string {
	if c.Shards == 0 || key == ErrorKey {
		return c.Name()
	}
	return c.ShardName(c.home(key, member))
}
