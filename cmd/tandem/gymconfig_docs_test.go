package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
	"github.com/tandem-rl/tandem/registry"
)

var namedFile = regexp.MustCompile("(?s)```yaml\n# ([a-z]+\\.yaml)\n(.*?)```")

// TestTheGymPageShowsWhatIsPrinted follows docs/gym.md: its files are written, its commands run, and what they print is what it says.
func TestTheGymPageShowsWhatIsPrinted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: no bash here")
	}
	page, err := os.ReadFile("../../docs/gym.md")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, file := range namedFile.FindAllStringSubmatch(string(page), -1) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file[1]), []byte(file[2]), 0o600))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "tandem")))
	commands := 0
	for _, block := range strings.Split(string(page), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			run := exec.CommandContext(t.Context(), "bash", "-c", command)
			run.Dir, run.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HF_HOME=/hf")
			out, _ := run.CombinedOutput() // one shows a failure
			require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(string(out)), command)
			commands++
		}
	}
	require.Equal(t, 4, commands)
}

// TestTheGymPagesRunIsValid renders the page's part of a Run file.
func TestTheGymPagesRunIsValid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/gym.md")
	require.NoError(t, err)
	_, part, found := strings.Cut(string(page), "```yaml\nclusters:\n")
	require.True(t, found)
	part, _, _ = strings.Cut(part, "```")
	text := "apiVersion: tandem.dev/v1alpha1\nkind: Run\nmetadata: {name: qwen3, namespace: post-train}\nspec:\n" +
		"  backend: raycluster\n  image: trainer:1\n  driver: {cluster: rl, command: [train]}\n  clusters:\n"
	for line := range strings.Lines(part) {
		text += "  " + line
	}
	run, err := v1alpha1.Load([]byte(text))
	require.NoError(t, err, text)
	objects, err := manifests.Render(run)
	require.NoError(t, err)
	require.NotEmpty(t, objects)
}

// TestG1EveryExamplePublishesGymOnlyOnceItAnswers: an address without a condition is published before anything listens there.
func TestG1EveryExamplePublishesGymOnlyOnceItAnswers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.yaml")
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		run, err := v1alpha1.Load(data)
		require.NoError(t, err, file)
		for _, cluster := range run.Spec.Clusters {
			for _, publication := range cluster.Publish {
				if publication.Key == registry.GymKey {
					require.NotNil(t, publication.When, file)
					require.Equal(t, "/global_config_dict_yaml", publication.When.HTTPGet.Path, file)
					found++
				}
			}
		}
	}
	require.Positive(t, found)
}
