package registry

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tandem-rl/tandem/internal/faultyapi"
)

// TestAgainstAPIServer runs everything that depends on what an API server really does.
func TestAgainstAPIServer(t *testing.T) {
	s := startServer(t)
	for name, test := range map[string]func(*testing.T, *server){
		"16 writers on 16 keys all land":                            testWriters,
		"16 joiners on one key all land and all leave":              testJoiners,
		"R10 values and annotations are what is documented":         testBytes,
		"no write without change":                                   testNoChange,
		"R11 R13 a publisher withdraws only what it still owns":     testWithdraw,
		"R1 a waiter is woken by one watch and nothing polls":       testWaitByWatch,
		"R1 all waiters of a process share one watch":               testOneWatch,
		"R2 a write outlives 401, 429, 500 and a lost connection":   testServerTrouble,
		"R2 a wait outlives 410 and an API server that is away":     testWatchTrouble,
		"R4 a waiter fails at once with the peer's message":         testFail,
		"the first failure stays":                                   testFirstFailure,
		"R6 a wait ends with ctx and says what it saw":              testWaitDeadline,
		"a waiter survives the ConfigMap deleted and made again":    testRecreated,
		"a role without watch polls":                                testNoWatch,
		"a role that only gets and patches is enough":               testOnlyGetAndPatch,
		"a role without patch is told which rule is missing":        testForbidden,
		"R8 no ConfigMap says who makes it":                         testNotFound,
		"R12 what NeMo-RL's class left behind is read and extended": testPythonBytes,
		"a write that does not fit is refused before it is sent":    testFull,
		"R3 writers conflict without losing and without a count":    testConflicts,
		"R7 an older incarnation neither writes nor is read":        testIncarnations,
		"R13 what a pod that is gone published is ignored":          testGone,
		"a second write takes one request":                          testOneRequest,
		"a token that was rotated is read again":                    testToken,
		"a server that has not read the roles yet is asked again":   testYoungServer,
		"429 is honoured for as long as the server asks":            testRetryAfter,
		"a watch tells every change once":                           testWatch,
		"shards are folded into the one ConfigMap":                  testFolder,
		"a folder that starts anew ends at the same":                testFolderAnew,
		"a folder learns of publishers that are gone":               testFolderGone,
		"a reset reaches the shards":                                testResetShards,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func testWriters(t *testing.T, s *server) {
	s.run(t, "writers")
	var group errgroup.Group
	for i := range 16 {
		store := s.store(t, "writers", fmt.Sprintf("pod-%d", i))
		group.Go(func() error {
			return store.Set(t.Context(), fmt.Sprintf("key-%02d", i), fmt.Sprintf("http://10.0.0.%d:80", i))
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, s.read(t, "writers").Data, 16)
}

func testJoiners(t *testing.T, s *server) {
	s.run(t, "joiners")
	stores := make([]*Store, 16)
	want := make([]string, 16)
	for i := range stores {
		stores[i] = s.store(t, "joiners", fmt.Sprintf("pod-%d", i))
		want[i] = fmt.Sprintf("http://10.0.0.%02d:8000/v1", i)
	}
	each(t, stores, func(i int, store *Store) error { return store.Join(t.Context(), "vllm_base_urls", want[i]) })
	members, err := Members(s.read(t, "joiners").Data["vllm_base_urls"])
	require.NoError(t, err)
	require.Equal(t, want, members)

	list, err := stores[0].List(t.Context())
	require.NoError(t, err)
	require.Len(t, list[0].Publishers, 16)

	each(t, stores, func(i int, store *Store) error { return store.Leave(t.Context(), "vllm_base_urls", want[i]) })
	cm := s.read(t, "joiners")
	require.Empty(t, cm.Data, "with the last member goes the key")
	require.Equal(t, map[string]string{SchemaAnnotation: Schema}, cm.Annotations)
}

func each(t *testing.T, stores []*Store, do func(int, *Store) error) {
	t.Helper()
	var group errgroup.Group
	for i, store := range stores {
		group.Go(func() error { return do(i, store) })
	}
	require.NoError(t, group.Wait())
}

func testBytes(t *testing.T, s *server) {
	s.run(t, "bytes")
	store := s.store(t, "bytes", "head-0")
	ctx := t.Context()
	require.NoError(t, store.Set(ctx, "gym_head_server", "http://10.0.0.1:9090"))
	require.NoError(t, store.Set(ctx, "generation_world_size", "8"))
	require.NoError(t, store.Join(ctx, "vllm_base_urls", "http://10.0.0.3:8000/v1"))
	require.NoError(t, store.Join(ctx, "vllm_base_urls", "http://10.0.0.2:8000/v1"))
	cm := s.read(t, "bytes")
	require.Equal(t, map[string]string{
		"gym_head_server":       "http://10.0.0.1:9090",
		"generation_world_size": "8",
		"vllm_base_urls":        `["http://10.0.0.2:8000/v1", "http://10.0.0.3:8000/v1"]`,
	}, cm.Data)
	require.Equal(t, map[string]string{
		"tandem.dev/schema":                          "1",
		"tandem.dev/publisher.gym_head_server":       "head-0/uid-of-head-0#Vzs0ZVkv",
		"tandem.dev/publisher.generation_world_size": "head-0/uid-of-head-0#LGJCMs3S",
		"tandem.dev/publisher.vllm_base_urls":        `{"http://10.0.0.2:8000/v1":"head-0/uid-of-head-0","http://10.0.0.3:8000/v1":"head-0/uid-of-head-0"}`,
	}, cm.Annotations)
}

func testNoChange(t *testing.T, s *server) {
	s.run(t, "nochange")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "nochange", "head-0")
	for range 3 {
		require.NoError(t, store.Set(t.Context(), "a", "1"))
		require.NoError(t, store.Join(t.Context(), "b", "x"))
		require.NoError(t, store.Delete(t.Context(), "never-there"))
		require.NoError(t, store.Leave(t.Context(), "never-there", "x"))
	}
	require.Equal(t, 2, seen.Of("PATCH"))
}

func testWithdraw(t *testing.T, s *server) {
	s.run(t, "withdraw")
	old, next := s.store(t, "withdraw", "old"), s.store(t, "withdraw", "next")
	require.NoError(t, old.Set(t.Context(), "a", "http://old"))
	require.NoError(t, next.Set(t.Context(), "a", "http://next"))
	require.NoError(t, old.Withdraw(t.Context(), "a"))
	require.Equal(t, "http://next", s.read(t, "withdraw").Data["a"])
	require.NoError(t, next.Withdraw(t.Context(), "a"))
	require.Empty(t, s.read(t, "withdraw").Data)
}

func testWaitByWatch(t *testing.T, s *server) {
	s.run(t, "wakes")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "wakes", "")
	done := waiting(t, store, "gym_head_server")
	require.NoError(t, s.store(t, "wakes", "gym").Set(t.Context(), "gym_head_server", "http://10.0.0.1:9090"))
	require.Equal(t, result{value: "http://10.0.0.1:9090"}, receive(t, done))
	require.Equal(t, 1, seen.Of("WATCH"))
	require.Equal(t, 1, seen.Of("GET"), "one list, then the watch tells")
}

func testOneWatch(t *testing.T, s *server) {
	s.run(t, "shared")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "shared", "")
	first := waiting(t, store, "a")
	others := make([]<-chan result, 50)
	for i := range others {
		others[i] = waiting(t, store, "b")
	}
	require.NoError(t, s.store(t, "shared", "x").Set(t.Context(), "b", "2"))
	for _, done := range others {
		require.Equal(t, result{value: "2"}, receive(t, done))
	}
	require.NoError(t, s.store(t, "shared", "x").Set(t.Context(), "a", "1"))
	require.Equal(t, result{value: "1"}, receive(t, first))
	require.Equal(t, 1, seen.Of("WATCH"))
}

func testServerTrouble(t *testing.T, s *server) {
	s.run(t, "trouble")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "trouble", "")
	codes := []int{401, 429, 500, 503}
	seen.Inject(func(req *http.Request) *http.Response {
		if len(codes) == 0 {
			return nil
		}
		code := codes[0]
		codes = codes[1:]
		return faultyapi.Answer(req, code, "{}")
	})
	require.NoError(t, store.Set(t.Context(), "a", "1"))
	require.Equal(t, "1", s.read(t, "trouble").Data["a"])

	seen.Inject(func(req *http.Request) *http.Response { return faultyapi.Answer(req, 503, "{}") })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := store.Set(ctx, "a", "2")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "currently unable to handle the request", "the cause is kept")
}

func testWatchTrouble(t *testing.T, s *server) {
	s.run(t, "gone")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "gone", "")
	gone := `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}}`
	faults := []func(*http.Request) *http.Response{
		func(req *http.Request) *http.Response { return faultyapi.Answer(req, 500, "{}") },
		func(req *http.Request) *http.Response { return faultyapi.Answer(req, 200, gone) },
		func(req *http.Request) *http.Response { return faultyapi.Answer(req, 200, "") },
		func(req *http.Request) *http.Response { return faultyapi.Answer(req, 429, "{}") },
	}
	seen.Inject(func(req *http.Request) *http.Response {
		if len(faults) == 0 || !strings.Contains(req.URL.RawQuery, "fieldSelector") {
			return nil
		}
		fault := faults[0]
		if len(faults) < 4 && !req.URL.Query().Has("watch") {
			return nil // after the first fault, only watches are hit
		}
		faults = faults[1:]
		return fault(req)
	})
	done := waiting(t, store, "a")
	require.Eventually(t, func() bool { return seen.Of("WATCH") >= 4 }, 10*time.Second, time.Millisecond)
	require.NoError(t, s.store(t, "gone", "x").Set(t.Context(), "a", "1"))
	require.Equal(t, result{value: "1"}, receive(t, done))
}

func testFail(t *testing.T, s *server) {
	s.run(t, "fails")
	store := s.store(t, "fails", "")
	done := waiting(t, store, "gym_head_server")
	require.NoError(t, s.store(t, "fails", "gym-head").Fail(t.Context(), "gym head was killed (exit code 137)"))
	got := receive(t, done)
	require.ErrorIs(t, got.err, ErrFailed)
	require.ErrorContains(t, got.err, "gym head was killed (exit code 137)")

	var failed *FailedError
	_, err := store.GetNow(t.Context(), "gym_head_server")
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "gym head was killed (exit code 137)", failed.Message)
	value, err := store.Get(t.Context(), ErrorKey)
	require.NoError(t, err, "the error itself is readable")
	require.Equal(t, failed.Message, value)
}

func testFirstFailure(t *testing.T, s *server) {
	s.run(t, "first")
	store := s.store(t, "first", "")
	require.NoError(t, store.Fail(t.Context(), "cause"))
	require.NoError(t, store.Fail(t.Context(), "consequence"))
	require.Equal(t, "cause", s.read(t, "first").Data[ErrorKey])
	require.ErrorIs(t, store.Fail(t.Context(), ""), ErrBadValue)
}

func testWaitDeadline(t *testing.T, s *server) {
	s.run(t, "deadline")
	for run, want := range map[string]string{
		"deadline": `configmap default/nemo-rl-endpoints-deadline: key "a": not found`,
		"absent":   "configmap default/nemo-rl-endpoints-absent: not found: `tandem up` creates it",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		_, err := s.store(t, run, "").Get(ctx, "a")
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, want)
	}

	// A server that does not answer at all: what was waited for is named all the same.
	cfg, seen := faultyapi.Wrap(s.cfg)
	seen.Inject(func(req *http.Request) *http.Response {
		<-req.Context().Done()
		return faultyapi.Answer(req, http.StatusGatewayTimeout, "")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := openStore(t, cfg, "deadline", "").Get(ctx, "a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `get "a": context deadline exceeded; last seen: configmap default/nemo-rl-endpoints-deadline: nothing seen yet`)
}

func testRecreated(t *testing.T, s *server) {
	s.run(t, "again")
	done := waiting(t, s.store(t, "again", ""), "a")
	s.delete(t, "again")
	s.run(t, "again")
	require.NoError(t, s.store(t, "again", "x").Set(t.Context(), "a", "1"))
	require.Equal(t, result{value: "1"}, receive(t, done))
}

func testNoWatch(t *testing.T, s *server) {
	s.run(t, "nowatch")
	cfg, seen := faultyapi.Wrap(s.as(t, "nowatch", "nowatch", "get", "list"))
	done := waiting(t, openStore(t, cfg, "nowatch", ""), "a")
	require.Eventually(t, func() bool { return seen.Of("GET") >= 3 }, 10*time.Second, time.Millisecond)
	require.NoError(t, s.store(t, "nowatch", "x").Set(t.Context(), "a", "1"))
	require.Equal(t, result{value: "1"}, receive(t, done))
	require.Equal(t, 1, seen.Of("WATCH"), "a refused watch is not asked for again")
}

func testOnlyGetAndPatch(t *testing.T, s *server) {
	s.run(t, "minimal")
	store := openStore(t, s.as(t, "minimal", "minimal", "get", "patch"), "minimal", "")
	done := waiting(t, store, "a")
	require.NoError(t, store.Set(t.Context(), "a", "1"))
	require.Equal(t, result{value: "1"}, receive(t, done))
}

func testForbidden(t *testing.T, s *server) {
	s.run(t, "readonly")
	store := openStore(t, s.as(t, "readonly", "readonly", "get"), "readonly", "")
	err := store.Set(t.Context(), "a", "1")
	require.ErrorIs(t, err, ErrForbidden)
	require.ErrorContains(t, err, `set "a": configmap default/nemo-rl-endpoints-readonly: forbidden: the role needs verb "patch" on configmaps with resourceNames [nemo-rl-endpoints-readonly]`)
	require.Empty(t, s.read(t, "readonly").Data)

	other := openStore(t, s.as(t, "nobody", "elsewhere", "get"), "readonly", "")
	_, err = other.Get(t.Context(), "a")
	require.ErrorIs(t, err, ErrForbidden, "a wait does not outlast a refusal")
}

func testNotFound(t *testing.T, s *server) {
	store := s.store(t, "missing", "")
	for _, err := range []error{
		store.Set(t.Context(), "a", "1"),
		store.Join(t.Context(), "a", "1"),
		store.Fail(t.Context(), "message"),
		second(store.GetNow(t.Context(), "a")),
		second(store.List(t.Context())),
	} {
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorContains(t, err, "configmap default/nemo-rl-endpoints-missing: not found: `tandem up` creates it")
	}
}

func second[T any](_ T, err error) error { return err }

func testFull(t *testing.T, s *server) {
	s.run(t, "full")
	cfg, seen := faultyapi.Wrap(s.cfg)
	store := openStore(t, cfg, "full", "")
	require.NoError(t, store.Set(t.Context(), "a", strings.Repeat("x", maxData-10)))
	err := store.Set(t.Context(), "b", strings.Repeat("x", 11))
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, "registry full: data: 10 bytes are left, 11 are needed")
	require.Equal(t, 1, seen.Of("PATCH"))
	require.NoError(t, store.Set(t.Context(), "b", strings.Repeat("x", 10)), "the API server draws the same line")
}

func testPythonBytes(t *testing.T, s *server) {
	s.run(t, "python")
	patch := []byte(`{"data":{"dp_openai_server_base_urls":"[\"http://10.0.0.2:1/v1\", null, \"http://10.0.0.1:1/v1\"]","gym_head_server":"http://10.0.0.9:9090"}}`)
	_, err := s.admin.CoreV1().ConfigMaps("default").Patch(t.Context(), DefaultPrefix+"python", types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	store := s.store(t, "python", "pod")
	value, err := store.Get(t.Context(), "gym_head_server")
	require.NoError(t, err)
	require.Equal(t, "http://10.0.0.9:9090", value)
	require.NoError(t, store.Join(t.Context(), "dp_openai_server_base_urls", "http://10.0.0.3:1/v1"))
	members, err := Members(s.read(t, "python").Data["dp_openai_server_base_urls"])
	require.NoError(t, err)
	require.True(t, slices.IsSorted(members))
	require.Len(t, members, 3, "R12 null is dropped")
}
