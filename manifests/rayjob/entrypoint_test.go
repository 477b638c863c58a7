package rayjob

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

func runOf(env []corev1.EnvVar, command ...string) *v1alpha1.Run {
	run := &v1alpha1.Run{}
	run.Metadata.Name, run.Metadata.Namespace = "grpo", "post-train"
	run.Spec.Driver.Command, run.Spec.Driver.Env = command, env
	return run
}

// onTheHead runs the line as Ray does, and returns what it prints.
func onTheHead(t *testing.T, run *v1alpha1.Run) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", entrypoint(run))
	cmd.Env = append(os.Environ(), "POD_IP=10.0.0.7", "POD_NAME=grpo-x-head")
	out, err := cmd.Output()
	require.NoError(t, err, entrypoint(run))
	return string(out)
}

func TestThePlainLineReadsAsTheFile(t *testing.T) {
	t.Parallel()
	require.Equal(t, "exec python train.py +env.disagg_job_id=grpo --lr=1e-5",
		entrypoint(runOf(nil, "python", "train.py", "+env.disagg_job_id=$(TANDEM_RUN)", "--lr=1e-5")))
	require.Equal(t, `exec env 'WANDB_NAME=grpo, first' train`,
		entrypoint(runOf([]corev1.EnvVar{{Name: "WANDB_NAME", Value: "$(TANDEM_RUN), first"}}, "train")))
}

func TestEveryWordArrivesAsItWas(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"", " ", "a b", "'", `"`, `\`, `'\''`, "$HOME", "${HOME}", "`id`", "$(id)", "*", "~", "# no", "a;b|c&d>e", "line\nline", "tab\tend ", "ä", "-n", "A=b", "!x", "{a,b}",
	} {
		require.Equal(t, "["+word+"]", onTheHead(t, runOf(nil, "printf", "[%s]", word)))
		got := onTheHead(t, runOf([]corev1.EnvVar{{Name: "X", Value: word}}, "sh", "-c", `printf '[%s]' "$X"`))
		require.Equal(t, "["+word+"]", got)
	}
}

func TestReferencesAreExpandedAsInAContainer(t *testing.T) {
	t.Parallel()
	env := []corev1.EnvVar{{Name: "A", Value: "$(TANDEM_RUN)/$(POD_NAME)"}, {Name: "B", Value: "$(A)+$(LATER)"}, {Name: "LATER", Value: "z"}}
	tests := []struct{ name, word, want string }{
		{"the run", "$(TANDEM_RUN)", "grpo"},
		{"the namespace, inside a word", "http://x.$(TANDEM_NAMESPACE):9090", "http://x.post-train:9090"},
		{"what only the head knows", "http://$(POD_IP):9090 it's", "http://10.0.0.7:9090 it's"},
		{"a variable of the driver, which has one of the head's in it", "$(A)", "grpo/grpo-x-head"},
		{"a variable that comes later is not known yet", "$(B)", "grpo/grpo-x-head+$(LATER)"},
		{"a name that nobody knows stays", "$(NOBODY) $(", "$(NOBODY) $("},
		{"an escape", "$$(TANDEM_RUN) $$$(TANDEM_RUN) $$", "$(TANDEM_RUN) $grpo $"},
		{"a shell's own notation", "$TANDEM_RUN ${TANDEM_RUN}", "$TANDEM_RUN ${TANDEM_RUN}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, onTheHead(t, runOf(env, "printf", "%s", tt.word)))
		})
	}
}

func TestTheExitCodeIsTheCommands(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", entrypoint(runOf([]corev1.EnvVar{{Name: "X", Value: "y"}}, "sh", "-c", "exit 7")))
	_ = cmd.Run() // the exit code tells
	require.Equal(t, 7, cmd.ProcessState.ExitCode())
	require.True(t, strings.HasPrefix(entrypoint(runOf(nil, "train")), "exec "), "a signal to the shell must reach the command")
}
