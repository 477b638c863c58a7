package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/registry"
)

// testDocs follows docs/registry.md: every command of its console blocks is run, and prints what is written below it.
func testDocs(t *testing.T, cfg *rest.Config) {
	for _, tool := range []string{"bash", "curl", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skipped: no %s here", tool)
		}
	}
	createRun(t, cfg, "demo")
	store, err := registry.New(registry.Config{Run: "demo", Namespace: "default"}, cfg)
	require.NoError(t, err)
	s := startSidecar(t, store)
	env := append(os.Environ(), "TANDEM_REGISTRY="+s.url, "TEST_AS_REGISTRY=1", "PYTHONDONTWRITEBYTECODE=1",
		"PATH="+ownPath(t)+":"+os.Getenv("PATH"))
	text, err := os.ReadFile("../../docs/registry.md")
	require.NoError(t, err)
	steps := consoleSteps(string(text))
	require.Greater(t, len(steps), 20)
	for _, step := range steps {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", step.command)
		cmd.Dir, cmd.Env = "../..", env
		out, _ := cmd.CombinedOutput() // some commands show a failure
		require.Equal(t, trimLines(step.output), trimLines(string(out)), step.command)
	}
}

// ownPath is a folder that holds this program as registry.
func ownPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "registry")))
	return dir
}

type consoleStep struct{ command, output string }

// consoleSteps are the commands ("$ ...") of the console blocks and what they print.
func consoleSteps(text string) (steps []consoleStep) {
	for i, block := range strings.Split(text, "```console\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "```")
		for _, line := range strings.SplitAfter(block, "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, consoleStep{command: command})
			} else {
				steps[len(steps)-1].output += line
			}
		}
	}
	return steps
}

// trimLines ignores what editors remove at the end of lines, and newlines at the end.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
