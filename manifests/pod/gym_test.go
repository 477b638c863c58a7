package pod

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/test/rayline"
)

// TestG3AGymThatLeavesHasFailedTheRun: NeMo-RL's Gym server exits 0 when it is told to stop, and a Job would count that as success.
func TestG3AGymThatLeavesHasFailedTheRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, gym string
		code      int
		says      string
	}{
		{"stopped by somebody else, with code 0", `trap 'exit 0' TERM; kill -TERM $$`, 1, "gym ended with exit code 0"},
		{"stopped by somebody else, by the signal", `kill -TERM $$`, 143, "gym ended with exit code 143"},
		{"one of its servers died, and it looks after them", `sleep 60 & kill -KILL $!; wait $!; echo 'Process finished unexpectedly!' >&2; exit 1`, 1, "gym ended with exit code 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			registry, told := fakeRegistry(t)
			args := []string{agent(t, http.StatusOK), "60", "", "1", "--head", "gym"}
			cmd, _, stderr := startArgs(t, map[string]string{"ray": rayIsServer, "gym": tt.gym}, args...)
			cmd.Env = append(cmd.Env, "TANDEM_REGISTRY="+registry, "POD_NAME=gym-head")
			_ = cmd.Run() // its code is looked at
			require.Equal(t, tt.code, cmd.ProcessState.ExitCode(), stderr)
			require.Equal(t, []string{"pod gym-head: " + tt.says}, told())
		})
	}
}

// TestG7TheExitCodeSurvivesALog: in `train | tee log` a shell without pipefail ends with tee's code, so a crash counts as success. The
// scripts pass on what the command ends with, and its output is complete in both places.
func TestG7TheExitCodeSurvivesALog(t *testing.T) {
	t.Parallel()
	const train = `for ((i = 0; i < 2000; i++)); do echo "step $i"; done; echo Traceback >&2; exit 9`
	log := filepath.Join(t.TempDir(), "log")
	command := []string{"/bin/bash", "-o", "pipefail", "-c", "train 2>&1 | tee '" + log + "'"}

	cmd, stdout, stderr := start(t, map[string]string{"ray": rayIsServer, "train": train}, command...)
	_ = cmd.Run() // its code is looked at
	require.Equal(t, 9, cmd.ProcessState.ExitCode(), stderr)
	written, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, string(written), stdout.String())
	require.Contains(t, string(written), "step 1999\nTraceback\n")

	// As a Ray job the head's shell runs the line, and Ray's own exit code is 1 for every failure.
	words := submitted(t, submission{command: command})
	onHead := exec.CommandContext(t.Context(), "sh", "-c", rayline.Join(words[7:]))
	onHead.Env = append(os.Environ(), "PATH="+fakes(t, map[string]string{"train": train})+":"+os.Getenv("PATH"))
	require.Error(t, onHead.Run())
	require.Equal(t, 9, onHead.ProcessState.ExitCode())
	cmd, stderr = submission{ray: "exit 1", answer: `{"status": "FAILED", "driver_exit_code": 9}`, command: command}.start(t)
	_ = cmd.Run() // its code is looked at
	require.Equal(t, 9, cmd.ProcessState.ExitCode(), stderr)
}
