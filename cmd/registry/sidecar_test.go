package main

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/registry"
)

// events reads a watch until it ends.
func (s served) events(t *testing.T, query string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/watch"+query, nil)
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	events := make(chan string)
	go func() {
		defer close(events)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if lines.Text() != "" && !strings.HasPrefix(lines.Text(), ":") {
				events <- lines.Text()
			}
		}
	}()
	return events
}

func testHTTPWatch(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "watch")
	store := openStore(t, cfg, "watch", "pod")
	s := startSidecar(t, store)
	events := s.events(t, "?key=a&key=b")
	require.Equal(t, "event: endpoints", <-events)
	require.Equal(t, `data: {"endpoints":[]}`, <-events)
	require.NoError(t, store.Set(t.Context(), "c", "1"))
	require.NoError(t, store.Set(t.Context(), "a", "http://10.0.0.1:1/?x=1&y=2"))
	require.Equal(t, "event: endpoints", <-events)
	require.Equal(t, `data: {"endpoints":[{"key":"a","value":"http://10.0.0.1:1/?x=1&y=2","publishers":["pod/uid"]}]}`, <-events)
	require.NoError(t, store.Fail(t.Context(), "gym head was killed"))
	require.Equal(t, "event: error", <-events)
	require.Contains(t, <-events, `data: {"code":"failed","message":"watch: configmap default/nemo-rl-endpoints-watch: run failed: gym head was killed"}`)
	_, more := <-events
	require.False(t, more, "the stream ends")
}

func TestWatchIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := httptest.NewRecorder()
		s := &stream{w: recorder, controller: http.NewResponseController(recorder)}
		stop := s.keepAlive(time.Second)
		<-time.After(1500 * time.Millisecond) // by the test's own clock
		stop()
		require.Contains(t, recorder.Body.String(), ": still here\n\n")
	})
}

func testRecovers(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "recovers")
	var broken atomic.Bool
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(app.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	startSidecar(t, openStore(t, cfg, "recovers", "gym-head"),
		publication{key: "gym_head_server", url: app.URL, when: "/health"},
		publication{key: "tcp", url: "http://10.0.0.1:1", tcp: address},
		publication{key: "always", url: "http://10.0.0.1:2"})
	reader := openStore(t, cfg, "recovers", "")
	holds := func(keys ...string) {
		t.Helper()
		var got []string
		require.Eventually(t, func() bool {
			list, err := reader.List(t.Context())
			require.NoError(t, err)
			got = nil
			for _, e := range list {
				got = append(got, e.Key)
			}
			return strings.Join(got, " ") == strings.Join(keys, " ")
		}, 20*time.Second, 10*time.Millisecond)
	}
	holds("always", "gym_head_server", "tcp")
	broken.Store(true)
	require.NoError(t, listener.Close())
	holds("always")
	broken.Store(false)
	listener, err = net.Listen("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	holds("always", "gym_head_server", "tcp")
}

func testCrowd(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "crowd")
	m := newMetrics()
	h := handler{openStore(t, cfg, "crowd", ""), m, make(chan struct{}, 1), heartbeat}
	server := httptest.NewServer(h.reply(h.get))
	t.Cleanup(server.Close)
	s := served{url: server.URL}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/?wait=10m", nil)
		r.SetPathValue("key", "a")
		h.reply(h.get)(httptest.NewRecorder(), r)
	}()
	require.Eventually(t, func() bool { return len(h.waits) == 1 }, 10*time.Second, time.Millisecond)
	status, answer := s.ask(t, "GET", "/?wait=10m", "")
	require.Equal(t, 429, status)
	require.JSONEq(t, `{"code":"too_many_waits","message":"too many requests wait: at most 1 at a time"}`, answer)
	cancel()
	<-ended
	require.Empty(t, h.waits)
}

// testRemote runs the commands against a sidecar, as the containers without a token do.
func testRemote(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "remote")
	address := unixPrefix + filepath.Join(t.TempDir(), "socket")
	dead, err := net.Listen("unix", strings.TrimPrefix(address, unixPrefix))
	require.NoError(t, err)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	listener, err := listen(address)
	require.NoError(t, err, "what a killed sidecar left does not stand in the way")
	_, err = listen(address)
	require.ErrorContains(t, err, "somebody listens there")
	store := openStore(t, cfg, "remote", "pod")
	startServer(t, &server{listener: listener, store: store, metrics: newMetrics(), health: health{time.Second, 3}})

	for _, step := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"get", "k"}, exitNotFound, ""},
		{[]string{"get", "k", "--wait", "50ms"}, exitDeadline, ""},
		{[]string{"wait", "k", "--timeout", "50ms"}, exitDeadline, ""},
		{[]string{"set", "k", "http://10.0.0.1:1"}, exitOK, ""},
		{[]string{"join", "l", "m"}, exitOK, ""},
		{[]string{"wait", "k", "l"}, exitOK, "http://10.0.0.1:1\n[\"m\"]\n"},
		{[]string{"list"}, exitOK, "KEY  VALUE              PUBLISHERS\nk    http://10.0.0.1:1  pod/uid\nl    [\"m\"]              pod/uid\n"},
		{[]string{"leave", "l", "m"}, exitOK, ""},
		{[]string{"delete", "k"}, exitOK, ""},
		{[]string{"set", "a b", "x"}, exitFailed, ""},
		{[]string{"list"}, exitOK, "KEY  VALUE  PUBLISHERS\n"},
		{[]string{"fail", "stopped by hand"}, exitOK, ""},
		{[]string{"wait", "k"}, exitRunFailed, ""},
		{[]string{"watch", "k"}, exitRunFailed, ""},
		{[]string{"get", "error"}, exitOK, "stopped by hand\n"},
	} {
		code, out, errs := call(t.Context(), append(step.args, "--sidecar", address)...)
		require.Equal(t, step.code, code, "%v: %s", step.args, errs)
		require.Equal(t, step.out, out, "%v", step.args)
	}

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	code, out, errs := call(ctx, "watch", "error", "--sidecar", address)
	require.Equal(t, exitRunFailed, code, errs)
	require.Empty(t, out)
}

// TestRemoteWaitsForTheSidecar: a container may start before the sidecar listens.
func TestRemoteWaitsForTheSidecar(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	to, err := newRemote(unixPrefix + path)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, to.Set(ctx, "k", "v"), context.DeadlineExceeded)

	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, 200, keyValue{"k", "v"})
	}))
	require.NoError(t, server.Listener.Close())
	timer := time.AfterFunc(50*time.Millisecond, func() {
		server.Listener, err = net.Listen("unix", path)
		server.Start()
	})
	value, getErr := to.Get(t.Context(), "k")
	require.NoError(t, getErr)
	require.Equal(t, "v", value)
	require.False(t, timer.Stop())
	server.Close()
}

func testFolds(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "folds")
	createRun(t, cfg, "folds.shard-0")
	createRun(t, cfg, "folds.shard-1")
	m := newMetrics()
	config := registry.Config{Run: "folds", Namespace: "default", Shards: 2, OnWrite: m.wrote}
	store, err := registry.New(config, cfg)
	require.NoError(t, err)
	folder, err := registry.NewFolder(config, cfg)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := startServer(t, &server{listener: listener, store: store, folder: folder, metrics: m, health: health{time.Second, 3}})
	status, answer := s.ask(t, "POST", "/v1/endpoints/l/members", "m")
	require.Equal(t, 200, status, answer)
	_, answer = s.ask(t, "GET", "/v1/endpoints/l?wait=20s", "")
	require.JSONEq(t, `{"key":"l","value":"[\"m\"]"}`, answer)
	_, text := s.ask(t, "GET", "/metrics", "")
	require.Contains(t, text, `tandem_registry_http_requests_total{method="POST",code="ok"} 1`)
	require.Contains(t, text, `tandem_registry_writes_total{verb="join",result="ok"} 1`)
	require.Contains(t, text, "# TYPE tandem_registry_waits gauge")

	// People are not told about the shards; the ConfigMap tells them.
	admin, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	_, err = admin.CoreV1().ConfigMaps("default").Update(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: registry.DefaultPrefix + "folds", Annotations: map[string]string{registry.ShardsAnnotation: "2"}},
	}, metav1.UpdateOptions{})
	require.NoError(t, err)
	opened, err := registry.Open(t.Context(), registry.Config{Run: "folds", Namespace: "default"}, cfg)
	require.NoError(t, err)
	require.NoError(t, opened.Leave(t.Context(), "l", "m"))
	require.Eventually(t, func() bool {
		status, _ = s.ask(t, "GET", "/v1/endpoints/l", "")
		return status == 404
	}, 20*time.Second, 10*time.Millisecond)
}

func testStale(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "stale")
	config := registry.Config{Run: "stale", Namespace: "default", Incarnation: "1", Publisher: registry.Publisher{Pod: "pod", UID: "uid"}}
	store, err := registry.New(config, cfg)
	require.NoError(t, err)
	s := startSidecar(t, store, publication{key: "a", url: "http://10.0.0.1:1"})
	_, answer := s.ask(t, "GET", "/v1/endpoints/a?wait=20s", "")
	require.JSONEq(t, `{"key":"a","value":"http://10.0.0.1:1"}`, answer)
	require.NoError(t, openStore(t, cfg, "stale", "").Reset(t.Context(), "2"))
	status, answer := s.ask(t, "PUT", "/v1/endpoints/a", "x")
	require.Equal(t, 409, status)
	require.Contains(t, answer, `"code":"stale"`)
	require.NoError(t, s.stop(), "there is nothing to withdraw any more")
}

func TestTail(t *testing.T) {
	var end tail
	require.Empty(t, end.lines())
	for range 1000 {
		_, _ = end.Write([]byte("a line that is not the last\n"))
	}
	_, _ = end.Write([]byte("1\n2\n3"))
	_, _ = end.Write([]byte("4\n\n"))
	lines := strings.Split(end.lines(), "\n")
	require.Len(t, lines, tailLines)
	require.Equal(t, []string{"1", "2", "34"}, lines[7:])
	_, _ = end.Write([]byte(strings.Repeat("x", 3*tailBytes)))
	require.Len(t, end.lines(), tailBytes)
	require.LessOrEqual(t, cap(end.end), 16*tailBytes)
}

// A family that is not declared is counted and never printed.
func TestWhatIsCountedIsDeclaredAndPrinted(t *testing.T) {
	m := newMetrics()
	m.wrote(registry.Write{Verb: "set", Conflicts: 2, Retries: 1, Took: time.Second, Err: registry.ErrFull})
	var out strings.Builder
	m.answered(httptest.NewRequest(http.MethodGet, "/v1/endpoints/a", nil), "ok")
	m.Print(&out)
	for _, line := range []string{
		`tandem_registry_http_requests_total{method="GET",code="ok"} 1`,
		`tandem_registry_writes_total{verb="set",result="full"} 1`,
		"tandem_registry_write_conflicts_total 2",
		"tandem_registry_write_retries_total 1",
		"tandem_registry_write_seconds_total 1",
	} {
		require.Contains(t, out.String(), line+"\n")
	}
}

func FuzzHTTP(f *testing.F) {
	store, err := registry.New(registry.Config{Run: "fuzz", Namespace: "default"}, &rest.Config{Host: "http://127.0.0.1:1"})
	require.NoError(f, err)
	mux := newHandler(store, newMetrics())
	f.Add("GET", "/v1/endpoints/a?wait=10ms", "")
	f.Add("PUT", "/v1/endpoints/a%2Fb", "x")
	f.Add("POST", "/v1/endpoints//members", "x")
	f.Add("DELETE", "/v1/endpoints/../members", "")
	f.Add("GET", "/v1/endpoints/a?wait=-1s", "")
	f.Add("GET", "/v1/watch?key=%00", "")
	f.Fuzz(func(t *testing.T, method, target, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, "http://sidecar"+target, strings.NewReader(body))
		if err != nil {
			t.Skip("no request at all")
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Header().Get("Content-Type") == "application/json" && w.Code != 200 {
			require.ErrorContains(t, decodeProblem(w.Body.Bytes()), "")
		}
		require.Less(t, w.Code, 600)
	})
}

func TestSocketIsOpenToThePod(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := listen(unixPrefix + path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o666), info.Mode().Perm())
	require.NoError(t, listener.Close())
	require.NoFileExists(t, path)
}
