package registry

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/faultyapi"
)

func testConflicts(t *testing.T, s *server) {
	s.run(t, "conflicts")
	var conflicts, writes atomic.Int64
	stores := make([]*Store, 12)
	for i := range stores {
		store, err := New(Config{Run: "conflicts", Namespace: "default", OnWrite: func(w Write) {
			conflicts.Add(int64(w.Conflicts))
			writes.Add(1)
		}}, s.cfg)
		require.NoError(t, err)
		stores[i] = store
	}
	for round := range 3 {
		each(t, stores, func(i int, store *Store) error {
			return store.Join(t.Context(), "vllm_base_urls", fmt.Sprintf("http://10.0.%d.%d:8000/v1", round, i))
		})
	}
	members, err := Members(s.read(t, "conflicts").Data["vllm_base_urls"])
	require.NoError(t, err)
	require.Len(t, members, 36)
	require.Equal(t, int64(36), writes.Load())
	require.Positive(t, conflicts.Load(), "they did meet")

	// However often it is refused: more than the five times of NeMo-RL's class.
	cfg, seen := faultyapi.Wrap(s.cfg)
	refuse := func(times int) {
		seen.Inject(func(req *http.Request) *http.Response {
			if times == 0 || req.Method != http.MethodPatch {
				return nil
			}
			times--
			return faultyapi.Answer(req, http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
		})
	}
	refuse(8)
	store := openStore(t, cfg, "conflicts", "x")
	require.NoError(t, store.Set(t.Context(), "a", "1"))

	refuse(-1)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = store.Set(ctx, "a", "2")
	require.ErrorIs(t, err, ErrConflict)
	require.ErrorIs(t, err, context.DeadlineExceeded, "nothing but ctx ends the tries")
	require.ErrorContains(t, err, `set "a": context deadline exceeded; last try: configmap default/nemo-rl-endpoints-conflicts: conflict`)
}

func testOneRequest(t *testing.T, s *server) {
	s.run(t, "onerequest")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "onerequest", "x")
	for i := range 5 {
		require.NoError(t, store.Set(t.Context(), fmt.Sprintf("key-%d", i), "1"))
	}
	require.Equal(t, 1, seen.Of("GET"))
	require.Equal(t, 5, seen.Of("PATCH"))

	require.NoError(t, s.store(t, "onerequest", "y").Delete(t.Context(), "key-0"))
	require.NoError(t, store.Set(t.Context(), "key-0", "1"), "what it remembers is not believed")
	require.Equal(t, "1", s.read(t, "onerequest").Data["key-0"])
}

// testToken: the kubelet rotates the token of a pod, and the one that is in memory is refused from then on.
func testToken(t *testing.T, s *server) {
	s.run(t, "token")
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	cfg, seen := faultyapi.Wrap(&rest.Config{Host: "http://127.0.0.1:1", BearerTokenFile: path})
	valid := "Bearer old"
	seen.Inject(func(req *http.Request) *http.Response {
		if req.Header.Get("Authorization") != valid {
			return faultyapi.Answer(req, http.StatusUnauthorized, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)
		}
		return faultyapi.Answer(req, http.StatusOK, `{"metadata":{"resourceVersion":"1"},"data":{"a":"1"}}`)
	})
	store := openStore(t, cfg, "token", "")
	_, err := store.GetNow(t.Context(), "a")
	require.NoError(t, err)

	valid = "Bearer new"
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = store.GetNow(ctx, "a")
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, os.WriteFile(path, []byte("new"), 0o600))
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = store.GetNow(ctx, "a")
	require.NoError(t, err, "the file is read again after a 401, not after its minute")
}

// testYoungServer: an API server that has just started refuses until it has read the roles.
func testYoungServer(t *testing.T, s *server) {
	s.run(t, "young")
	for name, call := range map[string]func(*Store) error{
		"set":  func(store *Store) error { return store.Set(t.Context(), "a", "1") },
		"join": func(store *Store) error { return store.Join(t.Context(), "l", "m") },
		"list": func(store *Store) error { _, err := store.List(t.Context()); return err },
		"get":  func(store *Store) error { _, err := store.Get(t.Context(), "there"); return err },
		"watch": func(store *Store) error {
			for _, err := range store.Watch(t.Context()) {
				return err
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.store(t, "young", "").Set(t.Context(), "there", "1"))
			for _, why := range []string{"", `: RBAC: role.rbac.authorization.k8s.io \"pod\" not found`} {
				cfg, seen := faultyapi.Wrap(s.cfg)
				refusals := 0
				seen.Inject(func(req *http.Request) *http.Response {
					refusals++
					switch {
					case refusals == 1 && why == "":
						return faultyapi.Answer(req, http.StatusBadGateway, "no answer yet")
					case refusals < 7:
						return faultyapi.Answer(req, http.StatusForbidden,
							`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no`+why+`"}`)
					}
					return nil
				})
				require.NoError(t, call(openStore(t, cfg, "young", "x")), why)
				require.GreaterOrEqual(t, refusals, 7)
			}
		})
	}
}

func testRetryAfter(t *testing.T, s *server) {
	s.run(t, "busy")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "busy", "")
	refused := false
	seen.Inject(func(req *http.Request) *http.Response {
		if refused {
			return nil
		}
		refused = true
		answer := faultyapi.Answer(req, http.StatusTooManyRequests, "Too many requests, please try again later.\n")
		answer.Header.Set("Retry-After", "1")
		return answer
	})
	began := time.Now()
	require.NoError(t, store.Set(t.Context(), "a", "1"))
	require.GreaterOrEqual(t, time.Since(began), time.Second)
}

func testIncarnations(t *testing.T, s *server) {
	s.run(t, "again-and-again")
	of := func(incarnation string) *Store {
		store, err := New(Config{
			Run: "again-and-again", Namespace: "default",
			Publisher: Publisher{"pod-" + incarnation, "uid"}, Incarnation: incarnation,
		}, s.cfg)
		require.NoError(t, err)
		return store
	}
	first, second := of("1"), of("2")
	require.NoError(t, first.Reset(t.Context(), "1"))
	require.NoError(t, first.Set(t.Context(), "gym_head_server", "http://10.0.0.1:9090"))
	require.NoError(t, first.Join(t.Context(), "vllm_base_urls", "http://10.0.0.1:8000/v1"))
	require.NoError(t, first.Fail(t.Context(), "out of memory"))
	done := waiting(t, second, "gym_head_server")
	require.ErrorIs(t, second.Set(t.Context(), "a", "1"), ErrStale, "it is not its turn yet")

	require.NoError(t, second.Reset(t.Context(), "2"))
	require.Empty(t, s.read(t, "again-and-again").Data)
	err := first.Set(t.Context(), "gym_head_server", "http://10.0.0.1:9090")
	require.ErrorIs(t, err, ErrStale)
	require.ErrorContains(t, err, `set "gym_head_server": configmap default/nemo-rl-endpoints-again-and-again: stale incarnation: this process belongs to incarnation "1" of the run, the current one is "2"`)
	require.ErrorIs(t, first.Fail(t.Context(), "late"), ErrStale)
	require.NoError(t, second.Set(t.Context(), "gym_head_server", "http://10.0.0.2:9090"))
	require.Equal(t, result{value: "http://10.0.0.2:9090"}, receive(t, done), "neither the old value nor the old failure")
}

// pod makes a pod that publishes and returns it as a publisher.
func (s *server) pod(t *testing.T, name string) Publisher {
	t.Helper()
	pod, err := s.admin.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{runLabel: "gone"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return Publisher{name, string(pod.UID)}
}

func (s *server) deletePod(t *testing.T, name string) {
	t.Helper()
	now := int64(0)
	require.NoError(t, s.admin.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

func testGone(t *testing.T, s *server) {
	s.run(t, "gone-pods")
	publishers := make([]Publisher, 12) // more than are looked up by name
	for i := range publishers {
		publishers[i] = s.pod(t, fmt.Sprintf("gone-%d", i))
		store, err := New(Config{Run: "gone-pods", Namespace: "default", Publisher: publishers[i]}, s.cfg)
		require.NoError(t, err)
		require.NoError(t, store.Join(t.Context(), "l", fmt.Sprintf("http://10.0.0.%02d:1", i)))
		if i == 0 {
			require.NoError(t, store.Set(t.Context(), "a", "1"))
			require.NoError(t, store.Set(t.Context(), "b", "1"))
		}
	}
	lister, err := NewPodLister(s.cfg, "default", "gone")
	require.NoError(t, err)
	reader, err := New(Config{Run: "gone-pods", Namespace: "default", Pods: lister}, s.cfg)
	require.NoError(t, err)
	value, err := reader.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "1", value)

	s.deletePod(t, "gone-0")
	s.deletePod(t, "gone-11")
	s.pod(t, "gone-11") // its successor is another pod
	_, err = reader.GetNow(t.Context(), "a")
	require.ErrorIs(t, err, ErrNotFound)
	value, err = reader.GetNow(t.Context(), "l")
	require.NoError(t, err)
	members, err := Members(value)
	require.NoError(t, err)
	require.Len(t, members, 10)
	list, err := reader.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)

	// A reader that may not see pods takes everybody to be there, and asks once.
	cfg, seen := faultyapi.Wrap(s.as(t, "blind", "gone-pods", "get"))
	lister, err = NewPodLister(cfg, "default", "gone")
	require.NoError(t, err)
	reader, err = New(Config{Run: "gone-pods", Namespace: "default", Pods: lister}, cfg)
	require.NoError(t, err)
	for range 3 {
		_, err = reader.GetNow(t.Context(), "a")
		require.NoError(t, err)
	}
	require.Equal(t, 4, seen.Of("GET"))
}

func testWatch(t *testing.T, s *server) {
	s.run(t, "watch")
	writer := s.store(t, "watch", "x")
	var seen [][]Endpoint
	var last error
	for list, err := range s.store(t, "watch", "").Watch(t.Context(), "a", "l") {
		if err != nil {
			last = err
			break
		}
		seen = append(seen, list)
		switch len(seen) {
		case 1:
			require.NoError(t, writer.Set(t.Context(), "other", "1"))
			require.NoError(t, writer.Set(t.Context(), "a", "1"))
		case 2:
			require.NoError(t, writer.Join(t.Context(), "l", "m"))
		case 3:
			require.NoError(t, writer.Fail(t.Context(), "gym head was killed"))
		}
	}
	by := []string{"x/uid-of-x"}
	require.Equal(t, [][]Endpoint{
		{},
		{{"a", "1", by}},
		{{"a", "1", by}, {"l", `["m"]`, by}},
	}, seen)
	require.ErrorIs(t, last, ErrFailed)
	require.ErrorContains(t, last, "watch: configmap default/nemo-rl-endpoints-watch: run failed: gym head was killed")

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for _, err := range s.store(t, "never", "").Watch(ctx, "a") {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	for _, err := range s.store(t, "never", "").Watch(t.Context(), "a b") {
		require.ErrorIs(t, err, ErrBadKey)
	}
}
