package registry

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestShards(t *testing.T) {
	for publishers, want := range map[int]int{0: 0, 1: 0, 16: 0, 17: 5, 20: 5, 21: 6, 500: 125, 512: 128, 1000: 128, 100_000: 128} {
		require.Equal(t, want, Shards(publishers), publishers)
	}
	cfg := Config{Run: "a", Namespace: "default", Shards: 3}
	require.Equal(t, []string{"nemo-rl-endpoints-a.shard-0", "nemo-rl-endpoints-a.shard-1", "nemo-rl-endpoints-a.shard-2"}, cfg.ShardNames())
	require.Equal(t, cfg.Name(), cfg.place(ErrorKey, ""), "a failure is seen at once")
}

// sharded makes the ConfigMaps of a run with shards.
func (s *server) sharded(t *testing.T, run string) Config {
	t.Helper()
	s.run(t, run)
	cfg := Config{Run: run, Namespace: "default", Shards: 3}
	for _, name := range cfg.ShardNames() {
		_, err := s.admin.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return cfg
}

func (s *server) open(t *testing.T, cfg Config, pod string) *Store {
	t.Helper()
	if pod != "" {
		cfg.Publisher = Publisher{pod, "uid-of-" + pod}
	}
	store, err := New(cfg, s.cfg)
	require.NoError(t, err)
	return store
}

// startFolder runs a folder until the test ends or it is stopped.
func (s *server) startFolder(t *testing.T, folder *Folder) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- folder.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

func (s *server) folder(t *testing.T, cfg Config) *Folder {
	t.Helper()
	folder, err := NewFolder(cfg, s.cfg)
	require.NoError(t, err)
	return folder
}

// becomes waits until the run's ConfigMap holds want.
func (s *server) becomes(t *testing.T, run string, want map[string]string) {
	t.Helper()
	var got map[string]string
	require.Eventually(t, func() bool {
		got = s.read(t, run).Data
		return fmt.Sprint(got) == fmt.Sprint(want)
	}, 20*time.Second, 10*time.Millisecond, "it holds %v", &got)
}

func testFolder(t *testing.T, s *server) {
	cfg := s.sharded(t, "folded")
	s.startFolder(t, s.folder(t, cfg))
	ctx := t.Context()
	want := map[string]string{"vllm_base_urls": `["m0", "m1", "m2", "m3", "m4", "m5"]`}
	for i := range 6 {
		store := s.open(t, cfg, fmt.Sprintf("pod-%d", i))
		key := fmt.Sprintf("key-%d", i)
		want[key] = "1"
		require.NoError(t, store.Set(ctx, key, "1"))
		require.NoError(t, store.Join(ctx, "vllm_base_urls", fmt.Sprintf("m%d", i)))
	}
	s.becomes(t, "folded", want)
	cm := s.read(t, "folded")
	require.Len(t, cm.Annotations, 2, "publishers stay in the shards: %v", cm.Annotations)

	reader := s.store(t, "folded", "")
	value, err := reader.Get(ctx, "key-3")
	require.NoError(t, err)
	require.Equal(t, "1", value)

	one := s.open(t, cfg, "pod-1")
	require.NoError(t, one.Withdraw(ctx, "key-1"))
	require.NoError(t, one.Withdraw(ctx, "key-2"), "another's")
	require.NoError(t, one.Leave(ctx, "vllm_base_urls", "m1"))
	require.NoError(t, one.Set(ctx, "key-3", "2"), "the last writer wins")
	require.NoError(t, one.Delete(ctx, "key-4"))
	delete(want, "key-1")
	delete(want, "key-4")
	want["key-3"], want["vllm_base_urls"] = "2", `["m0", "m2", "m3", "m4", "m5"]`
	s.becomes(t, "folded", want)

	// Who knows nothing of shards.
	require.ErrorIs(t, reader.Delete(ctx, "key-3"), ErrBadValue, "it would come back")
	require.ErrorIs(t, reader.Leave(ctx, "vllm_base_urls", "m0"), ErrBadValue)
	require.NoError(t, reader.Set(ctx, "key-3", "people"))
	require.NoError(t, reader.Join(ctx, "vllm_base_urls", "people"))
	require.NoError(t, one.Set(ctx, "key-0", "3"))
	want["key-0"], want["key-3"], want["vllm_base_urls"] = "3", "people", `["m0", "m2", "m3", "m4", "m5", "people"]`
	s.becomes(t, "folded", want)
	require.NoError(t, one.Delete(ctx, "vllm_base_urls"), "for everybody")
	delete(want, "vllm_base_urls")
	s.becomes(t, "folded", want)

	require.NoError(t, one.Fail(ctx, "out of memory"))
	require.Equal(t, "out of memory", s.read(t, "folded").Data[ErrorKey], "without the folder's help")
}

func testFolderAnew(t *testing.T, s *server) {
	cfg := s.sharded(t, "anew")
	stop := s.startFolder(t, s.folder(t, cfg))
	store := s.open(t, cfg, "pod")
	ctx := t.Context()
	for _, member := range []string{"a", "b", "c"} {
		require.NoError(t, store.Join(ctx, "l", member))
		require.NoError(t, store.Set(ctx, "key-"+member, "1"))
	}
	s.becomes(t, "anew", map[string]string{"l": `["a", "b", "c"]`, "key-a": "1", "key-b": "1", "key-c": "1"})
	version := s.read(t, "anew").ResourceVersion
	stop()

	stop = s.startFolder(t, s.folder(t, cfg))
	require.NoError(t, store.Join(ctx, "other", "x"))
	s.becomes(t, "anew", map[string]string{"l": `["a", "b", "c"]`, "key-a": "1", "key-b": "1", "key-c": "1", "other": `["x"]`})
	require.NotEqual(t, version, s.read(t, "anew").ResourceVersion)
	stop()

	// What is withdrawn while nobody folds, is folded later; and a ConfigMap that was made anew is filled again.
	require.NoError(t, store.Leave(ctx, "l", "b"))
	require.NoError(t, store.Leave(ctx, "other", "x"))
	require.NoError(t, store.Delete(ctx, "key-a"))
	s.startFolder(t, s.folder(t, cfg))
	want := map[string]string{"l": `["a", "c"]`, "key-b": "1", "key-c": "1"}
	s.becomes(t, "anew", want)
	s.delete(t, "anew")
	s.run(t, "anew")
	s.becomes(t, "anew", want)
	shard := cfg.place("key-b", "")
	patch := []byte(`{"data":null}`)
	_, err := s.admin.CoreV1().ConfigMaps("default").Patch(ctx, shard, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.read(t, "anew").Data["key-b"] == "" }, 20*time.Second, 10*time.Millisecond)
}

func testFolderGone(t *testing.T, s *server) {
	cfg := s.sharded(t, "folder-gone")
	for key, name := range map[string]string{"a": "folder-gone", "b": "folder-stays"} {
		cfg.Publisher = s.pod(t, name)
		require.NoError(t, s.open(t, cfg, "").Set(t.Context(), key, "1"))
	}
	var err error
	cfg.Pods, err = NewPodLister(s.cfg, "default", "gone")
	require.NoError(t, err)
	folder := s.folder(t, cfg)
	folder.lookAgain = 100 * time.Millisecond
	s.startFolder(t, folder)
	s.becomes(t, "folder-gone", map[string]string{"a": "1", "b": "1"})
	s.deletePod(t, "folder-gone")
	s.becomes(t, "folder-gone", map[string]string{"b": "1"})
}

func testResetShards(t *testing.T, s *server) {
	cfg := s.sharded(t, "reset-shards")
	s.startFolder(t, s.folder(t, cfg))
	first, second := cfg, cfg
	first.Incarnation, second.Incarnation = "1", "2"
	old, new := s.open(t, first, "old"), s.open(t, second, "new")
	require.NoError(t, old.Set(t.Context(), "a", "1"))
	require.NoError(t, old.Join(t.Context(), "l", "x"))
	s.becomes(t, "reset-shards", map[string]string{"a": "1", "l": `["x"]`})
	require.NoError(t, new.Reset(t.Context(), "2"))
	s.becomes(t, "reset-shards", map[string]string{})
	require.ErrorIs(t, old.Set(t.Context(), "a", "1"), ErrStale)
	require.NoError(t, new.Join(t.Context(), "l", "y"))
	s.becomes(t, "reset-shards", map[string]string{"l": `["y"]`})
	for _, name := range cfg.ShardNames() {
		cm, err := old.readObject(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, "2", cm.incarnation())
	}
}
