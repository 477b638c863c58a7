package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/registry"
)

// TestMain runs the program itself where a test starts this binary as a process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_REGISTRY") != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// TestSidecar runs the sidecar against a real API server.
func TestSidecar(t *testing.T) {
	cfg := testenv.Start(t)
	for name, test := range map[string]func(*testing.T, *rest.Config){
		"the HTTP interface":                                   testHTTP,
		"a waiter over HTTP is woken, and failed":              testHTTPWait,
		"R13 endpoints are published once ready and withdrawn": testPublish,
		"the address that the app writes into a file":          testPublishFile,
		"the ConfigMap may come later than the sidecar":        testConfigMapComesLate,
		"docs/registry.md works as it is written":              testDocs,
		"a watch over HTTP":                                    testHTTPWatch,
		"G1 R12 what breaks is withdrawn until it recovers":    testRecovers,
		"too many waits are refused":                           testCrowd,
		"commands over a sidecar on a Unix socket":             testRemote,
		"a sidecar that folds":                                 testFolds,
		"R5 a command that fails is the run's failure":         testExec,
		"an incarnation of the past is refused":                testStale,
		"what gets lost is published again":                    testKeeps,
		"what was withdrawn is not published again":            testWithdrawnStaysAway,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, cfg)
		})
	}
}

func createRun(t *testing.T, cfg *rest.Config, run string) {
	t.Helper()
	admin, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: registry.DefaultPrefix + run}}
	_, err = admin.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
	require.NoError(t, err)
}

func openStore(t *testing.T, cfg *rest.Config, run, pod string) *registry.Store {
	t.Helper()
	store, err := registry.New(registry.Config{
		Run: run, Namespace: "default", Publisher: registry.Publisher{Pod: pod, UID: "uid"},
	}, cfg)
	require.NoError(t, err)
	return store
}

// served is a running `registry serve`.
type served struct {
	url  string
	stop func() error // as SIGTERM does
}

func startSidecar(t *testing.T, store *registry.Store, list ...publication) served {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return startServer(t, &server{
		listener: listener, store: store, metrics: newMetrics(), publications: list,
		health: health{every: 50 * time.Millisecond, failures: 3},
	})
}

func startServer(t *testing.T, server *server) served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.run(ctx) }()
	s := served{url: "http://" + server.listener.Addr().String(), stop: sync.OnceValue(func() error {
		cancel()
		return <-ended
	})}
	t.Cleanup(func() { require.NoError(t, s.stop()) })
	return s
}

// ask sends a request and returns the status and the answer.
func (s served) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, strings.TrimSpace(string(raw))
}

func testHTTP(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "http")
	s := startSidecar(t, openStore(t, cfg, "http", "pod"))
	for _, step := range []struct {
		method, path, body string
		status             int
		answer             string // what it holds
	}{
		{"GET", "/healthz", "", 200, "ok"},
		{"GET", "/readyz", "", 200, "{}"},
		{"GET", "/v1/endpoints/a", "", 404, `{"code":"not_found","message":"get \"a\": configmap default/nemo-rl-endpoints-http: key \"a\": not found"}`},
		{"PUT", "/v1/endpoints/a", "http://10.0.0.1:1/?x=1&y=2", 200, "{}"},
		{"GET", "/v1/endpoints/a", "", 200, `{"key":"a","value":"http://10.0.0.1:1/?x=1&y=2"}`},
		{"GET", "/v1/endpoints/a?wait=10m", "", 200, `{"key":"a","value":"http://10.0.0.1:1/?x=1&y=2"}`},
		{"POST", "/v1/endpoints/b/members", "http://10.0.0.2:1/v1", 200, "{}"},
		{"GET", "/v1/endpoints/b", "", 200, `{"key":"b","value":"[\"http://10.0.0.2:1/v1\"]"}`},
		{"GET", "/v1/endpoints", "", 200, `{"endpoints":[{"key":"a","value":"http://10.0.0.1:1/?x=1&y=2","publishers":["pod/uid"]},`},
		{"POST", "/v1/endpoints/a/members", "x", 400, `"code":"bad_request"`},
		{"POST", "/v1/endpoints/b/members", "", 400, `"code":"bad_request"`},
		{"PUT", "/v1/endpoints/a%20b", "x", 400, `"code":"bad_key","message":"bad key`},
		{"PUT", "/v1/endpoints/gym_head_server", "http://fd00::1:9090", 400, `"code":"bad_request"`},
		{"PUT", "/v1/endpoints/gym_head_server", "[fd00::1]:9090", 200, "{}"},
		{"GET", "/v1/endpoints/gym_head_server", "", 200, `"value":"http://[fd00::1]:9090"`},
		{"DELETE", "/v1/endpoints/gym_head_server", "", 200, "{}"},
		{"DELETE", "/v1/endpoints/gym_head_server", "", 200, "{}"},
		{"GET", "/v1/endpoints/gym_head_server", "", 404, `"code":"not_found"`},
		{"PUT", "/v1/endpoints/a", strings.Repeat("x", maxBody+1), 413, `"code":"too_large"`},
		{"PUT", "/v1/endpoints/a", strings.Repeat("x", maxBody), 507, `"code":"full","message":"set \"a\": configmap default/nemo-rl-endpoints-http: registry full: data:`},
		{"POST", "/v1/endpoints/b/members", "http://10.0.0.1:1/v1", 200, "{}"},
		{"DELETE", "/v1/endpoints/b/members", "http://10.0.0.2:1/v1", 200, "{}"},
		{"GET", "/v1/endpoints/b", "", 200, `{"key":"b","value":"[\"http://10.0.0.1:1/v1\"]"}`},
		{"PATCH", "/v1/endpoints/a", "x", 405, ``},
		{"GET", "/v1/endpoints/a?wait=soon", "", 400, `want a duration such as 10m`},
		{"GET", "/v1/endpoints/c?wait=50ms", "", 504, `"code":"timeout","message":"timed out after 50ms`},
		{"POST", "/v1/fail", "", 400, `a failure needs a message`},
		{"POST", "/v1/fail", "CUDA out of memory", 200, "{}"},
		{"GET", "/v1/endpoints/a", "", 424, `run failed: CUDA out of memory`},
		{"GET", "/v1/endpoints/c?wait=10m", "", 424, `"code":"failed"`},
		{"GET", "/v1/endpoints/error", "", 200, `{"key":"error","value":"CUDA out of memory"}`},
	} {
		status, answer := s.ask(t, step.method, step.path, step.body)
		require.Equal(t, step.status, status, "%s %s: %s", step.method, step.path, answer)
		require.Contains(t, answer, step.answer, "%s %s", step.method, step.path)
		if status != 200 && status != 405 {
			require.True(t, json.Valid([]byte(answer)), answer)
		}
	}
}

func testHTTPWait(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "httpwait")
	store := openStore(t, cfg, "httpwait", "pod")
	s := startSidecar(t, store)
	woken, failed := make(chan string, 1), make(chan string, 1)
	go func() {
		_, answer := s.ask(t, "GET", "/v1/endpoints/a?wait=10m", "")
		woken <- answer
	}()
	go func() {
		_, answer := s.ask(t, "GET", "/v1/endpoints/b?wait=10m", "")
		failed <- answer
	}()
	require.NoError(t, store.Set(t.Context(), "a", "1"))
	require.JSONEq(t, `{"key":"a","value":"1"}`, <-woken)
	require.NoError(t, store.Fail(t.Context(), "gym head was killed"))
	require.Contains(t, <-failed, "gym head was killed")
}

// app is a server that answers 503 until it is ready.
func app(t *testing.T) (url string, becomeReady func()) {
	t.Helper()
	ready := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-ready:
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() { close(ready) }
}

func testPublish(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "publish")
	url, becomeReady := app(t)
	ready, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reader := openStore(t, cfg, "publish", "")
	s := startSidecar(t, openStore(t, cfg, "publish", "gym-head"),
		publication{key: "gym_head_server", url: "http://10.0.0.1:9090", when: url + "/config"},
		publication{key: "vllm_base_urls", url: "http://10.0.0.1:8000/v1", member: true})
	members, err := reader.Get(ready, "vllm_base_urls")
	require.NoError(t, err)
	require.Equal(t, `["http://10.0.0.1:8000/v1"]`, members)
	_, err = reader.GetNow(ready, "gym_head_server")
	require.ErrorIs(t, err, registry.ErrNotFound, "its condition does not hold yet")
	becomeReady()
	value, err := reader.Get(ready, "gym_head_server")
	require.NoError(t, err)
	require.Equal(t, "http://10.0.0.1:9090", value)

	require.NoError(t, openStore(t, cfg, "publish", "other").Join(ready, "vllm_base_urls", "http://10.0.0.2:8000/v1"))
	require.NoError(t, s.stop())
	list, err := reader.List(ready)
	require.NoError(t, err)
	require.Equal(t, []registry.Endpoint{
		{Key: "vllm_base_urls", Value: `["http://10.0.0.2:8000/v1"]`, Publishers: []string{"other/uid"}},
	}, list, "withdrawn, and the other's stays")
}

func testPublishFile(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "file")
	url, becomeReady := app(t)
	path := filepath.Join(t.TempDir(), "vllm_base_urls")
	startSidecar(t, openStore(t, cfg, "file", "worker-0"),
		publication{key: "vllm_base_urls", file: path, member: true, when: "/health"})
	require.NoError(t, os.WriteFile(path, []byte(url+"/v1\n"), 0o600))
	becomeReady()
	reader := openStore(t, cfg, "file", "")
	value, err := reader.Get(t.Context(), "vllm_base_urls")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("[%q]", url+"/v1"), value)

	require.NoError(t, os.WriteFile(path, []byte(url+"/v2\n"), 0o600))
	require.Eventually(t, func() bool {
		value, err := reader.Get(t.Context(), "vllm_base_urls")
		return err == nil && value == fmt.Sprintf("[%q]", url+"/v2")
	}, 20*time.Second, 20*time.Millisecond, "a server that restarted elsewhere")
}

func testConfigMapComesLate(t *testing.T, cfg *rest.Config) {
	startSidecar(t, openStore(t, cfg, "comes-late", "pod"), publication{key: "a", url: "http://10.0.0.1:1"})
	reader := openStore(t, cfg, "comes-late", "")
	createRun(t, cfg, "comes-late")
	value, err := reader.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "http://10.0.0.1:1", value)
}

// call runs a command line.
func call(ctx context.Context, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(ctx, args, streams{strings.NewReader(""), &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

func TestUsage(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfig(t, "http://127.0.0.1:1"))
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no command", nil, "usage: registry COMMAND"},
		{"an unknown command", []string{"server"}, `unknown command "server"`},
		{"an unknown flag", []string{"serve", "--port", "1"}, "flag provided but not defined: -port"},
		{"no run", []string{"list", "--namespace", "train"}, "run: required"},
		{"a bad run", []string{"list", "--run", "A", "--namespace", "train"}, `run "A"`},
		{"a missing argument", []string{"set", "--run", "a", "KEY"}, "usage: registry set [flags] KEY VALUE"},
		{"not loopback", []string{"serve", "--run", "a", "--listen", "0.0.0.0:9440"}, `--listen "0.0.0.0:9440": only a loopback address`},
		{"no host is every host", []string{"serve", "--run", "a", "--listen", ":9440"}, "only a loopback address"},
		{"a publication without a value", []string{"serve", "--run", "a", "--publish", "KEY"}, `"KEY": want KEY=VALUE`},
		{"a key published twice", []string{"serve", "--run", "a", "--publish", "k=http://a", "--publish-from-file", "k=/f"}, `key "k" is published twice`},
		{"two conditions", []string{"serve", "--run", "a", "--publish", "k=http://a", "--when-http", "k=/h", "--when-tcp", "k=a:1"}, "--when-http or --when-tcp, not both"},
		{"a fold of nothing", []string{"serve", "--run", "a", "--fold"}, "--fold needs --shards"},
		{"too many shards", []string{"serve", "--run", "a", "--shards", "129"}, "shards 129: want 0 to 128"},
		{"an incarnation that is no word", []string{"list", "--run", "a", "--incarnation", "a b"}, `incarnation "a b"`},
		{"no failures at all", []string{"serve", "--run", "a", "--fail-after", "0"}, "--fail-after 0: want at least 1"},
		{"a socket somewhere", []string{"serve", "--run", "a", "--listen", "unix:socket"}, "want an absolute path"},
		{"no sidecar's address", []string{"get", "--sidecar", "ftp://a", "k"}, "want http://HOST:PORT or unix:PATH"},
		{"no command to run", []string{"exec", "--run", "a"}, "usage: registry exec"},
		{"keys and an address", []string{"wait", "--tcp", "a:1", "k"}, "usage: registry wait"},
		{"a condition of nothing", []string{"serve", "--run", "a", "--when-http", "k=/health"}, `--when-http for key "k", which is not published`},
		{"nothing to wait for", []string{"wait"}, "usage: registry wait"},
		{"two things to wait for", []string{"wait", "--tcp", "a:1", "--http", "http://a"}, "usage: registry wait"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, _, errs := call(t.Context(), tc.args...)
			require.Equal(t, exitUsage, code, errs)
			require.Contains(t, errs, tc.want)
		})
	}
	code, _, errs := call(t.Context(), "serve", "-h")
	require.Equal(t, exitOK, code)
	require.Contains(t, errs, "publish-member-from-file")
}

func kubeconfig(t *testing.T, host string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","namespace":"train"}}]}`, host)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWait(t *testing.T) {
	url, becomeReady := app(t)
	address := strings.TrimPrefix(url, "http://")
	code, _, errs := call(t.Context(), "wait", "--tcp", address, "--timeout", "20s")
	require.Equal(t, exitOK, code, errs)

	code, _, errs = call(t.Context(), "wait", "--http", url, "--timeout", "100ms")
	require.Equal(t, exitDeadline, code)
	require.Contains(t, errs, "waited up to 100ms: "+url)
	require.Contains(t, errs, "answers 503 Service Unavailable", "what was last seen")

	becomeReady()
	code, _, errs = call(t.Context(), "wait", "--http", url, "--timeout", "20s")
	require.Equal(t, exitOK, code, errs)

	code, _, errs = call(t.Context(), "wait", "--tcp", "127.0.0.1:1", "--timeout", "100ms")
	require.Equal(t, exitDeadline, code)
	require.Contains(t, errs, "connection refused")
}

// TestPeople runs the commands for people against a small API server that holds one ConfigMap.
func TestPeople(t *testing.T) {
	data := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/api/v1/namespaces/train/configmaps/nemo-rl-endpoints-a", r.URL.Path, "the namespace is the context's")
		if r.Method == http.MethodPatch {
			var patch struct{ Data map[string]*string }
			require.NoError(t, json.NewDecoder(r.Body).Decode(&patch))
			for key, value := range patch.Data {
				delete(data, key)
				if value != nil {
					data[key] = *value
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		require.NoError(t, json.NewEncoder(w).Encode(map[string]any{"data": data, "metadata": map[string]string{"resourceVersion": "1"}}))
	}))
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", kubeconfig(t, server.URL))

	for _, step := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"get", "--run", "a", "k"}, exitNotFound, ""},
		{[]string{"set", "--run", "a", "k", "http://10.0.0.1:1"}, exitOK, ""},
		{[]string{"get", "--run", "a", "k"}, exitOK, "http://10.0.0.1:1\n"},
		{[]string{"join", "--run", "a", "l", "m"}, exitOK, ""},
		{[]string{"get", "--run", "a", "l"}, exitOK, "[\"m\"]\n"},
		{[]string{"leave", "--run", "a", "l", "m"}, exitOK, ""},
		{[]string{"set", "--run", "a", "other", "x"}, exitOK, ""},
		{[]string{"delete", "--run", "a", "other"}, exitOK, ""},
		{[]string{"list", "--run", "a"}, exitOK, "KEY  VALUE              PUBLISHERS\nk    http://10.0.0.1:1  \n"},
		{[]string{"fail", "--run", "a", "stopped by hand"}, exitOK, ""},
		{[]string{"get", "error", "--run", "a"}, exitOK, "stopped by hand\n"},
		{[]string{"get", "--run", "a", "k"}, exitRunFailed, ""},
	} {
		code, out, errs := call(t.Context(), step.args...)
		require.Equal(t, step.code, code, "%v: %s", step.args, errs)
		require.Equal(t, step.out, out)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestClassify(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("x: %w", registry.ErrNotFound), 404, "not_found"},
		{fmt.Errorf("%w: %w", errTimedOut, registry.ErrNotFound), 504, "timeout"},
		{&registry.FailedError{Message: "x"}, 424, "failed"},
		{registry.ErrBadKey, 400, "bad_key"},
		{&registry.FullError{}, 507, "full"},
		{registry.ErrStale, 409, "stale"},
		{fmt.Errorf("%w: %w", context.DeadlineExceeded, registry.ErrConflict), 503, "conflict"},
		{registry.ErrForbidden, 403, "forbidden"},
		{context.DeadlineExceeded, 503, "unavailable"},
		{fmt.Errorf("%w; last seen: %w", context.Canceled, registry.ErrNotFound), 503, "unavailable"},
	} {
		status, code := classify(tc.err)
		require.Equal(t, tc.status, status, tc.err)
		require.Equal(t, tc.code, code, tc.err)
	}
}

func TestConditionOfAFile(t *testing.T) {
	got, ask, err := publication{when: "/health"}.condition("http://[fd00::1]:8000/v1")
	require.NoError(t, err)
	require.NotNil(t, ask)
	require.Equal(t, "http://[fd00::1]:8000/health", got)
	_, _, err = publication{key: "k", when: "/health"}.condition("10.0.0.1:8000")
	require.ErrorContains(t, err, `cannot take /health on "10.0.0.1:8000"`)
}

// syncBuffer is written by a process and read by a test.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
