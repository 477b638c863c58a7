package pod

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakes are the commands that the script finds first in its PATH.
func fakes(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/bash\n"+body+"\n"), 0o755))
	}
	return dir
}

// agent is a dashboard agent that gives the answers in turn, the last one for good. It returns its port.
func agent(t *testing.T, answers ...int) string {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/local_raylet_healthz" {
			t.Errorf("unexpected request: %s %s", r.Method, r.URL)
		}
		w.WriteHeader(answers[min(int(asked.Add(1)), len(answers))-1])
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	return port
}

// start prepares the script with two Ray arguments and a command. Ray answers at once.
func start(t *testing.T, scripts map[string]string, command ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	return startArgs(t, scripts, append([]string{agent(t, http.StatusOK), "60", "", "2", "--head", "--port=1"}, command...)...)
}

// startArgs prepares the script with all its arguments.
func startArgs(t *testing.T, scripts map[string]string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	argv := append(startCommand(), args...)
	cmd = exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+fakes(t, scripts)+":"+os.Getenv("PATH"), "TANDEM_STOP_SECONDS=2")
	cmd.WaitDelay = time.Second // no container ends what the script leaves behind
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// The fakes wait on each other by pipes that never speak, and end at SIGTERM as real servers do.
const (
	serves      = `trap 'echo "$0 told to stop"; exit 0' TERM; echo serving; exec 3<> <(:); for ((i = 0; i < 60; i++)); do read -t 1 -u 3; done`
	printsArgs  = `printf '[%s]' "$@"; exit 7`
	rayIsServer = `trap 'exit 0' TERM; exec 3<> <(:); for ((i = 0; i < 60; i++)); do read -t 1 -u 3; done`
)

func TestTheFirstProcessThatEndsEndsTheContainer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		ray     string
		app     string
		command []string
		code    int
		says    string
	}{
		{"a plain Ray node passes Ray's exit code on", "exit 3", "", nil, 3, "ray start ended with exit code 3"},
		{"a command that fails ends Ray too", rayIsServer, "exit 9", []string{"app"}, 9, "app ended with exit code 9"},
		{"Ray that fails ends the command too", "exit 4", serves, []string{"app"}, 4, "ray start ended with exit code 4"},
		{"a command that leaves with 0 before the run ended has failed", rayIsServer, "exit 0", []string{"app"}, 1, "counts as a failure"},
		{"Ray that leaves with 0 before the run ended has failed", "exit 0", serves, []string{"app"}, 1, "counts as a failure"},
		{"a command that a signal killed shows it", rayIsServer, "kill -KILL $$", []string{"app"}, 137, "app ended with exit code 137"},
		{"a command that does not exist is named", rayIsServer, "", []string{"no-such-command"}, 127, "no-such-command ended with exit code 127"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd, _, stderr := start(t, map[string]string{"ray": tt.ray, "app": tt.app}, tt.command...)
			_ = cmd.Run()
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), stderr)
			require.Contains(t, stderr.String(), tt.says)
			require.NotContains(t, stderr.String(), "Done", "bash's own notices")
		})
	}
}

func TestArgumentsReachRayAndTheCommandUnchanged(t *testing.T) {
	t.Parallel()
	awkward := []string{"a b", `"quoted"`, "$HOME", "*", "", "-n", "; exit 3"}
	cmd, stdout, _ := start(t, map[string]string{"ray": rayIsServer, "app": printsArgs}, append([]string{"app"}, awkward...)...)
	_ = cmd.Run()
	require.Equal(t, 7, cmd.ProcessState.ExitCode())
	require.Equal(t, "["+strings.Join(awkward, "][")+"]", stdout.String())

	cmd, stdout, _ = start(t, map[string]string{"ray": printsArgs})
	_ = cmd.Run()
	require.Equal(t, "[start][--head][--port=1][--block]", stdout.String())
}

func TestSIGTERMReachesTheChildrenAndEndsWith143(t *testing.T) {
	t.Parallel()
	cmd, _, _ := start(t, map[string]string{"ray": rayIsServer, "app": serves}, "app")
	cmd.Stdout = nil
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	started := make([]byte, len("serving\n"))
	_, err = stdout.Read(started)
	require.NoError(t, err)

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var rest bytes.Buffer
	_, err = rest.ReadFrom(stdout)
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Equal(t, 143, cmd.ProcessState.ExitCode())
	require.Contains(t, rest.String(), "told to stop")
}

// notStopped is what the script says when it has waited in vain.
const notStopped = "not stopped within"

func TestAProcessThatIgnoresSIGTERMDoesNotHoldTheContainer(t *testing.T) {
	t.Parallel()
	const (
		stubborn = `trap "" TERM; touch "$DEAF"; exec 3<> <(:); exec 1>&- 2>&-; read -t 20 -u 3`
		rayEnds  = `exec 3<> <(:); until [[ -e $DEAF ]]; do read -t 0.1 -u 3; done; exit 6` // not before the other is deaf
	)
	cmd, _, stderr := start(t, map[string]string{"ray": rayEnds, "app": stubborn}, "app")
	cmd.Env = append(cmd.Env, "DEAF="+filepath.Join(t.TempDir(), "deaf"))
	_ = cmd.Run() // its code is looked at
	require.Equal(t, 6, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), notStopped)
}

// fakeRegistry is a sidecar; told is what it has been told so far.
func fakeRegistry(t *testing.T) (url string, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/fail" {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(body))
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// The reason of a failed run is what failed first, not what failed because of it.
func TestWhatEndedIsReportedToTheRegistry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ray string
		app       string
		rayArgs   []string
		want      []string
	}{
		{"a command", rayIsServer, "exit 9", []string{"--head"}, []string{"pod pød-1: app ended with exit code 9"}},
		{"a worker's command", rayIsServer, "exit 9", []string{"--address=h:1"}, []string{"pod pød-1: app ended with exit code 9"}},
		{"a head's Ray", "exit 4", serves, []string{"--head"}, []string{"pod pød-1: ray start ended with exit code 4"}},
		{"but not a worker's Ray, which ends with its head", "exit 4", serves, []string{"--address=h:1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			registry, told := fakeRegistry(t)
			args := slices.Concat([]string{agent(t, http.StatusOK), "60", "", "1"}, tt.rayArgs, []string{"app"})
			cmd, _, stderr := startArgs(t, map[string]string{"ray": tt.ray, "app": tt.app}, args...)
			cmd.Env = append(cmd.Env, "TANDEM_REGISTRY="+registry, "POD_NAME=pød-1")
			_ = cmd.Run()
			require.Equal(t, tt.want, told(), stderr)
			require.NotContains(t, stderr.String(), "cannot be told")
		})
	}
}

func TestARegistryThatIsNotThereDoesNotHoldTheContainer(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	cmd, _, stderr := start(t, map[string]string{"ray": "exit 6"})
	cmd.Env = append(cmd.Env, "TANDEM_REGISTRY="+gone.URL, "POD_NAME=p")
	_ = cmd.Run()
	require.Equal(t, 6, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "cannot be told")
}

// Heads and workers of a run that is taken down end in any order: what ended before the signal is not waited for.
func TestSIGTERMAfterAProcessHasEndedIsNotHeldUp(t *testing.T) {
	t.Parallel()
	cmd, _, stderr := start(t, map[string]string{"ray": rayIsServer, "app": "exit 9"}, "app")
	reporting := make(chan struct{})
	registry := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reporting)
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		<-r.Context().Done() // no answer: the script is in the middle of its report
	}))
	defer registry.Close()
	cmd.Env = append(cmd.Env, "TANDEM_STOP_SECONDS=10", "TANDEM_REGISTRY="+registry.URL, "POD_NAME=p")
	require.NoError(t, cmd.Start())
	<-reporting
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // its code is looked at
	require.Equal(t, 143, cmd.ProcessState.ExitCode(), stderr)
	require.NotContains(t, stderr.String(), notStopped, "it waited for a process that had ended")
}

// A child that is gone before the script waits for it must be noticed all the same.
func TestAProcessThatEndsAtOnceIsNotMissed(t *testing.T) {
	t.Parallel()
	for range 40 {
		cmd, _, stderr := start(t, map[string]string{"ray": "exit 5", "app": serves}, "app")
		_ = cmd.Run()
		require.Equal(t, 5, cmd.ProcessState.ExitCode(), stderr)
	}
}

func TestTheCommandStartsOnceRayAnswers(t *testing.T) {
	t.Parallel()
	port := agent(t, http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusOK)
	cmd, stdout, stderr := startArgs(t, map[string]string{"ray": rayIsServer, "app": printsArgs}, port, "60", "", "1", "--head", "app", "x")
	_ = cmd.Run()
	require.Equal(t, 7, cmd.ProcessState.ExitCode(), stderr)
	require.Equal(t, "[x]", stdout.String())
}

func TestTheCommandDoesNotStartWithoutRay(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, nobody, err := net.SplitHostPort(gone.Listener.Addr().String())
	require.NoError(t, err)
	tests := []struct{ name, ray, port, seconds, says string }{
		{"no agent", rayIsServer, nobody, "1", "app was not started: Ray did not answer on port " + nobody + " within 1 s"},
		{"an agent without a raylet", rayIsServer, agent(t, http.StatusServiceUnavailable), "1", "app was not started: Ray did not answer"},
		{"Ray ends while it is waited for", "exit 1", nobody, "60", "ray start ended with exit code 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			registry, told := fakeRegistry(t)
			cmd, stdout, stderr := startArgs(t, map[string]string{"ray": tt.ray, "app": printsArgs}, tt.port, tt.seconds, "", "1", "--head", "app")
			cmd.Env = append(cmd.Env, "TANDEM_REGISTRY="+registry, "POD_NAME=p")
			_ = cmd.Run()
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), stderr)
			require.Contains(t, stderr.String(), tt.says)
			require.NotContains(t, stderr.String(), "refused")
			require.Empty(t, stdout.String(), "app ran")
			require.Len(t, told(), 1)
			require.Contains(t, told()[0], "pod p: "+tt.says)
		})
	}
}

func TestTheSetupScriptComesBeforeRay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, setup string
		code        int
		stdout      string
		stderr      string
	}{
		{"what it exports is inherited", "set -eu; export GREETING='good day'", 7, "[--head][--block]good day", ""},
		{"it may add flags of ray start", `ray_args+=(--resources='{"topo_rank": 1}')`, 7, `[--head][--resources={"topo_rank": 1}][--block]`, ""},
		{"it may be several lines", "a=1\nexport GREETING=$((a + 1))", 7, "[--head][--block]2", ""},
		{"one that fails fails the container", "false", 1, "", "the setup script failed with exit code 1"},
		{"one that exits has not said that all is well", "exit 0", 1, "", "the setup script left with exit code 0"},
		{"one that exits keeps its code", "exit 9", 9, "", "the setup script left with exit code 9"},
		{"one under set -e that fails", "set -e; (exit 5); true", 5, "", "the setup script left with exit code 5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ray := `shift; printf '[%s]' "$@"; printf '%s' "$GREETING"; exit 7`
			cmd, stdout, stderr := startArgs(t, map[string]string{"ray": ray}, "1", "60", tt.setup, "1", "--head")
			_ = cmd.Run() // its code is looked at
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), stderr)
			require.Equal(t, tt.stdout, stdout.String())
			require.Contains(t, stderr.String(), tt.stderr)
		})
	}
}

func TestKubernetesLeavesTheScriptsAlone(t *testing.T) {
	t.Parallel()
	for _, script := range []string{startScript, submitScript, fetchScript} {
		require.NotContains(t, script, "$(", "Kubernetes expands $(NAME) in commands")
		require.NotContains(t, script, "$$", "Kubernetes turns $$ into $ in commands")
	}
}

// The end of a read's time may fall into the middle of a line: "137 app" was once reported as 37.
func TestALineThatIsReadInTwoPartsIsOne(t *testing.T) {
	t.Parallel()
	from := strings.Index(startScript, "partial=\n")
	length := strings.Index(startScript[from:], "\n}\n") + len("\n}\n")
	script := startScript[from:from+length] + `
exec {ended}<> <(:)
reported=0
printf 13 >&"$ended"
await_end 0.1 && exit 1
printf '7 gym server\n' >&"$ended"
await_end
echo "$code|$name|$said"
printf '9 app\n' >&"$ended"
await_end 1
echo "$code|$name"`
	out, err := exec.CommandContext(t.Context(), "/bin/bash", "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "137|gym server|gym server ended with exit code 137\n9|app\n", string(out))
}
