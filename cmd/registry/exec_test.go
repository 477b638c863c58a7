package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/registry"
)

// program is this binary as `registry args...`.
func program(t *testing.T, env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(append(os.Environ(), "TEST_AS_REGISTRY=1"), env...)
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &out
	return cmd, &out
}

func testExec(t *testing.T, cfg *rest.Config) {
	for i, tc := range []struct {
		name, script string
		code         int
		failure      string // what the run's failure holds; empty: none
	}{
		{"success", "echo done >&2", 0, ""},
		{"a code", "echo first >&2; echo CUDA out of memory >&2; exit 7", 7, "rl-head-0: sh -c echo first >&2; echo CUDA out of memory >&2; exit 7 ended with exit code 7; last lines of stderr:\nfirst\nCUDA out of memory"},
		{"a signal", "kill -KILL $$", 137, "ended with exit code 137"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := fmt.Sprintf("exec-%d", i)
			createRun(t, cfg, run)
			store := openStore(t, cfg, run, "pod")
			s := startSidecar(t, store)
			cmd, out := program(t, []string{"TANDEM_REGISTRY=" + s.url, "POD_NAME=rl-head-0"}, "exec", "--", "sh", "-c", tc.script)
			_ = cmd.Run()
			require.Equal(t, tc.code, cmd.ProcessState.ExitCode(), out.String())
			message, err := store.GetNow(t.Context(), registry.ErrorKey)
			if tc.failure == "" {
				require.ErrorIs(t, err, registry.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Contains(t, message, tc.failure)
		})
	}
	t.Run("no such command", func(t *testing.T) {
		createRun(t, cfg, "exec-none")
		store := openStore(t, cfg, "exec-none", "pod")
		s := startSidecar(t, store)
		cmd, _ := program(t, []string{"TANDEM_REGISTRY=" + s.url}, "exec", "/does/not/exist", "--flag")
		_ = cmd.Run()
		require.Equal(t, exitNoCommand, cmd.ProcessState.ExitCode())
		_, err := store.GetNow(t.Context(), "a")
		require.ErrorContains(t, err, "/does/not/exist --flag: fork/exec /does/not/exist: no such file or directory")
		cmd, _ = program(t, []string{"TANDEM_REGISTRY=" + s.url}, "exec", "/etc")
		_ = cmd.Run()
		require.Equal(t, exitNotRunning, cmd.ProcessState.ExitCode())
	})
	t.Run("told to stop", func(t *testing.T) {
		createRun(t, cfg, "exec-stop")
		store := openStore(t, cfg, "exec-stop", "pod")
		s := startSidecar(t, store)
		for _, tc := range []struct {
			script string
			code   int
		}{
			{"trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done", 3},
			{"echo ready; sleep 60 & wait", 143},
		} {
			cmd, out := program(t, []string{"TANDEM_REGISTRY=" + s.url}, "exec", "sh", "-c", tc.script)
			var lines syncBuffer
			cmd.Stdout = &lines
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return strings.Contains(lines.String(), "ready") }, 10*time.Second, time.Millisecond)
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			_ = cmd.Wait()
			require.Equal(t, tc.code, cmd.ProcessState.ExitCode(), out.String())
		}
		_, err := store.GetNow(t.Context(), registry.ErrorKey)
		require.ErrorIs(t, err, registry.ErrNotFound, "it did as it was told")
	})
	t.Run("a failure that cannot be reported", func(t *testing.T) {
		if testing.Short() {
			t.Skip("skipped: it waits ten seconds")
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := listener.Addr().String()
		require.NoError(t, listener.Close())
		cmd, out := program(t, []string{"TANDEM_REGISTRY=http://" + address}, "exec", "sh", "-c", "exit 9")
		_ = cmd.Run()
		require.Equal(t, 9, cmd.ProcessState.ExitCode(), "the code is passed on all the same")
		require.Contains(t, out.String(), "cannot report the failure")
	})
}
