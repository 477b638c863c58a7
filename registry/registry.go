// Package registry lets the clusters of a run find each other through one ConfigMap.
//
// Every endpoint is a key of the ConfigMap: a plain string (gym_head_server) or a JSON list of members
// (vllm_base_urls). The key "error" says that the run has failed and why.
//
// It promises: a write changes its own key only, never loses another writer's, and is retried until ctx ends; a wait
// uses one watch however many wait, survives anything that an API server does (closed streams, 410, restarts, the
// ConfigMap deleted and made again), and fails at once with the peer's message when the run has failed; values are
// byte for byte what NeMo-RL's Python class reads and writes; an error names the ConfigMap and answers to errors.Is.
//
// It does not create the ConfigMap (`tandem up` does, so that no pod needs the right to), does not know whether an
// endpoint answers, and holds no lease: a publisher withdraws what it published.
//
// # Incarnations
//
// A run that starts again as a whole is another incarnation of it ([Config.Incarnation], [Store.Reset]). Readers never
// see what an older one wrote, and its writers are refused. What names no incarnation, such as what NeMo-RL's class
// writes, counts as written by the current one.
//
// # Shards
//
// Hundreds of writers of one object collapse, whatever they do. So above 16 publishers endpoints are written to shards
// (ConfigMaps of the same form, [Config.ShardNames]), each key and each member of a list to one of them, and a [Folder]
// carries them into the run's ConfigMap in batches. Readers know only that one. Failures are written there directly.
//
// Somebody who knows nothing of shards (people, NeMo-RL's class) writes to the run's ConfigMap. A plain value written
// there stays as it is and hides what the shards hold, until it is deleted; a list there is joined with the members of
// the shards, and either side can take back only its own.
//
//	store, err := registry.New(registry.Config{Run: "qwen3", Namespace: "train"}, restConfig)
//	err = store.Set(ctx, "gym_head_server", "http://10.0.0.7:9090")
//	err = store.Join(ctx, "vllm_base_urls", "http://10.0.0.8:8000/v1")
//	url, err := store.Get(ctx, "gym_head_server") // waits for it
//	err = store.Fail(ctx, "gym head was killed")  // every waiter of the run returns ErrFailed
package registry

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// ErrorKey is the key whose non-empty value says that the run has failed.
const ErrorKey = "error"

// Annotations of the ConfigMap. Readers of the data (NeMo-RL's class among them) need none of them.
const (
	// SchemaAnnotation holds [Schema].
	SchemaAnnotation = "tandem.dev/schema"
	// Schema is the version of the annotations.
	Schema = "1"
	// PublisherAnnotation, with a key appended, holds who wrote the key: "pod/uid@incarnation#fingerprint" of a plain
	// value, and for a list a JSON object from member to "pod/uid@incarnation". The incarnation may be missing.
	PublisherAnnotation = "tandem.dev/publisher."
)

// Store reads and writes the registry of one run. It is safe for concurrent use.
type Store struct {
	cfg     Config
	client  *kubeclient.Client
	feed    feed
	objects objects
}

// New makes the store of cfg.Run. It sends no request.
func New(cfg Config, restConfig *rest.Config) (*Store, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	client, err := kubeclient.New(restConfig, cfg.Namespace)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, client: client}
	s.feed.follow = s.follow
	return s, nil
}

// Name is the name of the run's ConfigMap.
func (s *Store) Name() string { return s.cfg.Name() }

func (s *Store) String() string { return s.cfg.describe(s.Name()) }

func (c Config) describe(object string) string {
	return fmt.Sprintf("configmap %s/%s", c.Namespace, object)
}

// Endpoint is one key of the registry.
type Endpoint struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Publishers names the pods ("pod/uid") that wrote the key, as far as they said so.
	Publishers []string `json:"publishers,omitempty"`
}

// endpoints is all that the reader sees, sorted by key.
func (v view) endpoints() []Endpoint {
	list := make([]Endpoint, 0, len(v.Data))
	for _, key := range slices.Sorted(maps.Keys(v.Data)) {
		value, ok := v.value(key)
		if key == ErrorKey {
			ok = v.failure() != nil
		}
		if ok {
			list = append(list, Endpoint{Key: key, Value: value, Publishers: v.publishers(key)})
		}
	}
	return list
}
