package importer

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// What was cut out of scripts is scripts: bash reads them all.
func TestBashReadsTheScriptsOfImportedRuns(t *testing.T) {
	t.Parallel()
	for _, name := range inputs(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			result, err := Import([]File{read(t, name)}, options)
			require.NoError(t, err)
			for _, script := range scriptsOf(result.Run) {
				bash := exec.Command("bash", "-n")
				bash.Stdin = strings.NewReader(script)
				out, err := bash.CombinedOutput()
				require.NoError(t, err, "%s\n%s", script, out)
			}
		})
	}
}

func scriptsOf(run *v1alpha1.Run) []string {
	commands, out := [][]string{run.Spec.Driver.Command}, []string{}
	for _, cluster := range run.Spec.Clusters {
		groups := []v1alpha1.Group{cluster.Head}
		for _, worker := range cluster.Workers {
			groups = append(groups, worker.Group)
		}
		for _, group := range groups {
			commands, out = append(commands, group.Command), append(out, group.Setup)
		}
	}
	for _, command := range commands {
		if len(command) > 2 && command[0] == "/bin/bash" {
			out = append(out, command[len(command)-1])
		}
	}
	return out
}

// Ray's arguments that the shell computes reach tandem's start script: here those of the topology probe that NeMo-RL's largest example has.
func TestASetupAddsWhatItComputesToRaysArguments(t *testing.T) {
	t.Parallel()
	start := parseRayStart("RESOURCES='{'\nRESOURCES+=\"\\\"rank\\\": $((1 + 1))\"\nRESOURCES+='}'\n" +
		`eval "$KUBERAY_GEN_RAY_START_CMD --resources='$RESOURCES'"`)
	require.NotNil(t, start)
	out, err := exec.Command("bash", "-c", "ray_args=(--block)\n"+start.setup+"\nprintf '[%s]' \"${ray_args[@]}\"").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, `[--block][--resources={"rank": 2}]`, string(out))
}
