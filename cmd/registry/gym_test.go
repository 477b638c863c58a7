package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/registry"
)

// TestG1TheAddressOfGymIsPublishedOnlyOnceItAnswers: NeMo-RL's server publishes before it listens, and the first rollouts are refused.
func TestG1TheAddressOfGymIsPublishedOnlyOnceItAnswers(t *testing.T) {
	cfg := testenv.Start(t)
	createRun(t, cfg, "g1")
	listener, err := net.Listen("tcp", "127.0.0.1:0") // an address that nobody else takes
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	reader := openStore(t, cfg, "g1", "")
	startSidecar(t, openStore(t, cfg, "g1", "gym-head"),
		publication{key: registry.GymKey, url: "http://" + address, when: "/global_config_dict_yaml"})

	// Nothing listens; then something does that is not ready; then it is.
	unpublished := func() {
		_, err := reader.GetNow(t.Context(), registry.GymKey)
		require.ErrorIs(t, err, registry.ErrNotFound)
	}
	unpublished()
	listener, err = net.Listen("tcp", address)
	require.NoError(t, err)
	ready, asked := make(chan struct{}), make(chan struct{})
	gym := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-ready:
			fmt.Fprint(w, "head_server: {}")
		case asked <- struct{}{}:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = gym.Serve(listener) }() // it ends with Close
	t.Cleanup(func() { require.NoError(t, gym.Close()) })
	for range 3 {
		<-asked // and the answer before this one was 503
		unpublished()
	}
	close(ready)
	value, err := reader.Get(t.Context(), registry.GymKey)
	require.NoError(t, err)
	require.Equal(t, "http://"+address, value)
}

// failures is a sidecar that only takes reports of failures.
func failures(t *testing.T) (url string, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/fail" {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(body))
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// supervised starts `registry exec` with a script and waits until it says "ready".
func supervised(t *testing.T, sidecar, script string, flags ...string) (cmd *exec.Cmd, out *syncBuffer) {
	t.Helper()
	args := append(append([]string{"exec"}, flags...), "--", "sh", "-c", script)
	cmd, _ = program(t, []string{"TANDEM_REGISTRY=" + sidecar}, args...)
	out = &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	out.await(t, "ready")
	return cmd, out
}

// await waits for a text that a process prints.
func (b *syncBuffer) await(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(b.String(), text) }, 10*time.Second, time.Millisecond, b.String())
}

// TestG3AGymThatIsToldToStopHasNotSucceeded: NeMo-RL's server exits 0 on SIGTERM, and a Job that is evicted counts as done.
func TestG3AGymThatIsToldToStopHasNotSucceeded(t *testing.T) {
	t.Parallel()
	const stopsWith0 = "trap 'echo stopped; exit 0' TERM INT; echo ready; while :; do sleep 0.1; done"
	for _, tc := range []struct {
		name, script string
		signal       syscall.Signal
		code         int
	}{
		{"0 on SIGTERM becomes 143", stopsWith0, syscall.SIGTERM, 143},
		{"0 on SIGINT becomes 130", stopsWith0, syscall.SIGINT, 130},
		{"another code stays", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done", syscall.SIGTERM, 3},
		{"a signal that stops nothing changes nothing", "trap 'exit 0' USR1; echo ready; while :; do sleep 0.1; done", syscall.SIGUSR1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			sidecar, told := failures(t)
			cmd, out := supervised(t, sidecar, tc.script)
			require.NoError(t, cmd.Process.Signal(tc.signal))
			_ = cmd.Wait() // its code is looked at
			require.Equal(t, tc.code, cmd.ProcessState.ExitCode(), out.String())
			require.Empty(t, told(), "it was told to stop, which is no failure of its own")
		})
	}
}

// TestG3ASecondSignalIsHeard: NeMo-RL's server ignores it, so an impatient Ctrl-C does nothing.
func TestG3ASecondSignalIsHeard(t *testing.T) {
	t.Parallel()
	sidecar, _ := failures(t)
	cmd, out := supervised(t, sidecar, "trap 'echo first; trap \"exit 0\" TERM' TERM; echo ready; while :; do sleep 0.1; done")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	out.await(t, "first")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // its code is looked at
	require.Equal(t, 143, cmd.ProcessState.ExitCode())
}

// TestG3AGymThatLosesAServerFailsTheRun: what looks after its servers, as Gym does, ends when one has died; that is reported.
func TestG3AGymThatLosesAServerFailsTheRun(t *testing.T) {
	t.Parallel()
	sidecar, told := failures(t)
	cmd, out := supervised(t, sidecar, "sleep 60 & server=$!; echo ready; kill -KILL $server; wait $server; echo $? >&2; echo 'Process `judge` finished unexpectedly!' >&2; exit 1", "--until-stopped")
	_ = cmd.Wait() // its code is looked at
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), out.String())
	require.Len(t, told(), 1)
	require.Contains(t, told()[0], "ended with exit code 1; last lines of stderr:\n")
	require.Contains(t, told()[0], "\nProcess `judge` finished unexpectedly!")
}

// TestG3AServerThatEndsByItselfHasFailedWhateverItsCode is what a Job cannot know.
func TestG3AServerThatEndsByItselfHasFailedWhateverItsCode(t *testing.T) {
	t.Parallel()
	sidecar, told := failures(t)
	cmd, out := supervised(t, sidecar, "echo ready", "--until-stopped")
	_ = cmd.Wait() // its code is looked at
	require.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), out.String())
	require.Equal(t, []string{"sh -c echo ready ended with exit code 0; it should serve until it is told to stop"}, told())

	sidecar, told = failures(t)
	cmd, out = supervised(t, sidecar, "echo ready")
	_ = cmd.Wait()
	require.Equal(t, exitOK, cmd.ProcessState.ExitCode(), out.String())
	require.Empty(t, told(), "a driver that is done")
}
