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
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain makes the test binary the stub, so that tests run the real processes: with asStub set it is the program
// that it is called by.
func TestMain(m *testing.M) {
	if os.Getenv(asStub) != "" {
		main()
	}
	os.Exit(m.Run())
}

const asStub = "TANDEM_TEST_AS_STUB"

// process is a running program of the stub.
type process struct {
	cmd  *exec.Cmd
	text *syncBuffer
	done chan struct{}
}

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

func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink(self, link))
	cmd := exec.Command(link, args...)
	cmd.Env = append(os.Environ(), asStub+"=1")
	return cmd
}

func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	return startCommand(t, command(t, name, args...))
}

func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, text: &syncBuffer{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.text, p.text
	require.NoError(t, cmd.Start())
	go func() {
		_ = cmd.Wait() // the exit code is in ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-p.done
		if t.Failed() {
			t.Logf("%s printed:\n%s", cmd, p.text)
		}
	})
	return p
}

func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(20 * time.Second):
		require.FailNow(t, "still running", "%s printed:\n%s", p.cmd, p.text)
		return -1
	}
}

func run(t *testing.T, name string, args ...string) (int, string) {
	t.Helper()
	p := start(t, name, args...)
	return p.exitCode(t), p.text.String()
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func fetch(ctx context.Context, at string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 15*time.Second, 20*time.Millisecond, what)
}

// headNode is a running head and its addresses.
type headNode struct {
	*process
	gcs, dashboard, agent string
}

func startHead(t *testing.T) headNode {
	t.Helper()
	port, dashboard, agent := freePort(t), freePort(t), freePort(t)
	h := headNode{gcs: "127.0.0.1:" + port, dashboard: "http://127.0.0.1:" + dashboard, agent: "http://127.0.0.1:" + agent}
	h.process = start(t, "ray", "start", "--head", "--port", port, "--dashboard-port="+dashboard, "--dashboard-host=0.0.0.0",
		"--dashboard-agent-listen-port="+agent, "--num-cpus=4", "--metrics-export-port", "8080", "--no-monitor", "--block")
	eventually(t, "the head starts", func() bool { return strings.Contains(h.text.String(), "Ray head started") })
	return h
}

func TestHeadAnswersKubeRaysProbes(t *testing.T) {
	t.Parallel()
	h := startHead(t)
	for _, at := range []string{h.agent + "/api/local_raylet_healthz", h.agent + "/api/healthz", h.dashboard + "/api/gcs_healthz"} {
		code, body, err := fetch(t.Context(), at)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, body, "success", "the probe greps for it")
	}
	code, _ := run(t, "ray", "health-check", "--address", h.gcs)
	require.Equal(t, 0, code)
	code, _ = run(t, "ray", "health-check", "--address", "127.0.0.1:"+freePort(t))
	require.Equal(t, 1, code)
}

func TestWorkerDiesWithItsHead(t *testing.T) {
	t.Parallel()
	h := startHead(t)
	worker := start(t, "ray", "start", "--address", h.gcs, "--num-gpus", "1", "--dashboard-agent-listen-port="+freePort(t), "--block")
	eventually(t, "the worker joins", func() bool { return strings.Contains(h.text.String(), "gcs: + worker") })
	require.NoError(t, h.cmd.Process.Signal(syscall.SIGKILL))
	require.Equal(t, 1, worker.exitCode(t))
	require.Contains(t, worker.text.String(), "lost the head")
}

func TestWorkerWaitsForItsHead(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	worker := start(t, "ray", "start", "--address=127.0.0.1:"+port, "--dashboard-agent-listen-port="+freePort(t), "--block")
	gcs, err := net.Listen("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	defer gcs.Close()
	conn, err := gcs.Accept()
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, worker.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, worker.exitCode(t))
}

func TestStartWithoutBlockReturnsOnceTheNodeListens(t *testing.T) {
	t.Parallel()
	port, dashboard, agent := freePort(t), freePort(t), freePort(t)
	cmd := command(t, "ray", "start", "--head", "--port", port, "--dashboard-port", dashboard, "--dashboard-agent-listen-port", agent)
	logs, err := os.Create(filepath.Join(t.TempDir(), "log")) // the node keeps it; a pipe would keep Wait waiting
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = logs, logs
	require.NoError(t, cmd.Run())
	code, _ := run(t, "ray", "health-check", "--address=127.0.0.1:"+port)
	require.Equal(t, 0, code)
	stopNode(t, "http://127.0.0.1:"+dashboard)
}

// stopNode ends a head that runs in the background, whose process a job of it can tell.
func stopNode(t *testing.T, dashboard string) {
	t.Helper()
	code, text := run(t, "ray", "job", "submit", "--address", dashboard, "--submission-id", "who", "--", "/bin/sh", "-c", "echo head=$PPID.")
	require.Equal(t, 0, code, text)
	_, after, _ := strings.Cut(text, "head=")
	number, _, _ := strings.Cut(after, ".")
	pid, err := strconv.Atoi(number)
	require.NoError(t, err, text)
	require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
	eventually(t, "the head ends", func() bool {
		_, _, err := fetch(t.Context(), dashboard+"/api/version")
		return err != nil
	})
}

func TestJobs(t *testing.T) {
	t.Parallel()
	h := startHead(t)
	submit := func(id string, argv ...string) (int, string) {
		return run(t, "ray", append([]string{"job", "submit", "--address", h.dashboard, "--submission-id", id, "--"}, argv...)...)
	}
	t.Run("the log is the job's, the exit code of a failure is 1", func(t *testing.T) {
		code, text := submit("seven", "/bin/sh", "-c", "echo one; echo two >&2; exit 7")
		require.Equal(t, 1, code)
		require.Contains(t, text, "one\ntwo\n")
		require.Contains(t, text, "exit code 7")
	})
	t.Run("an id is taken once", func(t *testing.T) {
		code, text := submit("seven", "/bin/true")
		require.Equal(t, 1, code)
		require.Contains(t, text, "Job with submission_id seven already exists")
	})
	t.Run("a command that is not there", func(t *testing.T) {
		code, text := submit("absent", "/no/such/command")
		require.Equal(t, 1, code)
		require.Contains(t, text, "exit code 127")
	})
	t.Run("the line is the shell's, as Ray joins it", func(t *testing.T) {
		code, text := submit("line1", "X=1;", "echo", "$X", "a  b", `"c"`)
		require.Equal(t, 0, code)
		require.Contains(t, text, "1 a  b \"c\"\n")
	})
	t.Run("a job that is stopped is no failure to Ray", func(t *testing.T) {
		p := start(t, "ray", "job", "submit", "--address", h.dashboard, "--submission-id", "stopped", "--", "/bin/sh", "-c", "echo begun; exec sleep 60")
		eventually(t, "the job runs", func() bool { return strings.Contains(p.text.String(), "begun") })
		resp, err := http.Post(h.dashboard+"/api/jobs/stopped/stop", "application/json", nil)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, 0, p.exitCode(t))
		require.Contains(t, p.text.String(), "Job 'stopped' stopped")
	})
	t.Run("what KubeRay asks about the job of a RayJob", func(t *testing.T) {
		status, _, err := fetch(t.Context(), h.dashboard+"/api/jobs/rayjob-x")
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, status, "so that KubeRay submits it")
		body := `{"entrypoint":"echo last words; exit 7","submission_id":"rayjob-x","metadata":{"a":"b"},"runtime_env":{"env_vars":{}}}`
		resp, err := http.Post(h.dashboard+"/api/jobs/", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		var info jobInfo
		eventually(t, "the job ends", func() bool {
			_, text, err := fetch(t.Context(), h.dashboard+"/api/jobs/rayjob-x")
			return err == nil && json.Unmarshal([]byte(text), &info) == nil && info.Status == failed
		})
		require.Equal(t, "Job entrypoint command failed with exit code 7, last available logs (truncated to 20,000 chars):\nlast words\n", info.Message)
		require.Positive(t, info.Started)
		require.GreaterOrEqual(t, info.Ended, info.Started)
	})
	t.Run("Ray's own form of the request", func(t *testing.T) {
		resp, err := http.Post(h.dashboard+"/api/jobs/", "application/json", strings.NewReader(`{"entrypoint":"echo $((1+2))","submission_id":"line"}`))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode)
		var info jobInfo
		eventually(t, "the job succeeds", func() bool {
			_, body, err := fetch(t.Context(), h.dashboard+"/api/jobs/line")
			return err == nil && json.Unmarshal([]byte(body), &info) == nil && info.Status == "SUCCEEDED"
		})
		require.Equal(t, 0, *info.ExitCode)
		_, body, err := fetch(t.Context(), h.dashboard+"/api/jobs/line/logs")
		require.NoError(t, err)
		require.JSONEq(t, `{"logs":"3\n"}`, body)
	})
	t.Run("the submitter fails when the head goes", func(t *testing.T) {
		p := start(t, "ray", "job", "submit", "--address", h.dashboard, "--submission-id", "long", "--", "/bin/sh", "-c", "echo begun; exec sleep 60")
		eventually(t, "the job runs", func() bool { return strings.Contains(p.text.String(), "begun") })
		require.NoError(t, h.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 143, h.exitCode(t))
		require.NotEqual(t, 0, p.exitCode(t))
	})
}

func TestDriverReachesEveryServer(t *testing.T) {
	t.Parallel()
	dir, gymPort := t.TempDir(), freePort(t)
	vllm := start(t, "vllm-server", "--publish", "vllm_base_urls", "--publish-dir", dir, "--model", "stub")
	gym := start(t, "gym-server", "--port", gymPort, "--delay", "50ms")
	var base string
	eventually(t, "the server publishes where it is", func() bool {
		raw, err := os.ReadFile(filepath.Join(dir, "vllm_base_urls"))
		base = strings.TrimSpace(string(raw))
		return err == nil
	})
	eventually(t, "gym listens", func() bool { return strings.Contains(gym.text.String(), "serving") })
	sidecar := fakeSidecar(t, map[string]string{
		"vllm_base_urls": fmt.Sprintf("[%q]", base), "gym_head_server": "http://127.0.0.1:" + gymPort,
	})

	code, text := driver(t, sidecar, "--steps", "3")
	require.Equal(t, 0, code, text)
	require.Contains(t, text, "step 3/3: 1 completions, 1 rollout")
	require.Contains(t, text, `grpo: logging as "first try"`)

	code, text = driver(t, sidecar, "--steps=3", "--fail-at-step=2")
	require.Equal(t, exitAtStep, code, text)

	require.NoError(t, gym.cmd.Process.Kill())
	gym.exitCode(t)
	code, text = driver(t, sidecar, "--steps", "3")
	require.Equal(t, 1, code)
	require.Contains(t, text, "error: grpo: step 1/3:")
	require.NoError(t, vllm.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, vllm.exitCode(t))
}

func driver(t *testing.T, sidecar string, args ...string) (int, string) {
	t.Helper()
	cmd := command(t, "grpo", args...)
	cmd.Env = append(cmd.Env, "TANDEM_REGISTRY="+sidecar, "WANDB_NAME=first try")
	p := startCommand(t, cmd)
	return p.exitCode(t), p.text.String()
}

func fakeSidecar(t *testing.T, endpoints map[string]string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/endpoints/{key}", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"key": r.PathValue("key"), "value": endpoints[r.PathValue("key")]})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestDriverNeedsASidecar(t *testing.T) {
	t.Parallel()
	code, text := run(t, "grpo")
	require.Equal(t, 1, code)
	require.Contains(t, text, "TANDEM_REGISTRY is not set")
}

func TestProcessOne(t *testing.T) {
	t.Parallel()
	asProcessOne := func(t *testing.T) *process {
		t.Helper()
		if os.Getuid() != 0 {
			t.Skip("skipped: a PID namespace needs root")
		}
		cmd := command(t, "gym-server", "--port", freePort(t))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		p := startCommand(t, cmd)
		eventually(t, "it serves", func() bool { return strings.Contains(p.text.String(), "serving") })
		return p
	}
	t.Run("SIGTERM", func(t *testing.T) {
		p := asProcessOne(t)
		require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, 143, p.exitCode(t))
	})
	t.Run("kill -9 of the server", func(t *testing.T) {
		p := asProcessOne(t)
		child := onlyChild(t, p.cmd.Process.Pid)
		require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
		require.Equal(t, 137, p.exitCode(t))
	})
}

// onlyChild asks every thread, because the kernel lists a child under the one that forked.
func onlyChild(t *testing.T, pid int) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	var children []string
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		require.NoError(t, err)
		children = append(children, strings.Fields(string(raw))...)
	}
	require.Len(t, children, 1)
	child, err := strconv.Atoi(children[0])
	require.NoError(t, err)
	return child
}

func TestFlagsAreLenient(t *testing.T) {
	f := parseFlags([]string{"start", "--head", "--port=1", "--dashboard-port", "2", "--unknown", "--block", "--", "cmd", "--port=3"}, "head", "block")
	require.True(t, f.has("head") && f.has("block") && f.has("unknown"))
	require.Equal(t, "1", f.get("port", ""))
	require.Equal(t, "2", f.get("dashboard-port", ""))
	require.Equal(t, []string{"start", "cmd", "--port=3"}, f.rest)
}
