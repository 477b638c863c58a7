package importer

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every YAML file of NeMo-RL's examples is a workload that imports, or says what it is and what stands for it.
func TestEveryFileOfTheExamplesIsKnown(t *testing.T) {
	t.Parallel()
	others := map[string]string{
		"endpoint-registry-rbac": "endpoint-registry-rbac.yaml: Role nemo-rl-endpoint-registry: tandem makes the roles of a run itself",
		"gym_standalone_config":  "gym_standalone_config.yaml: a NeMo Gym configuration: it is the configuration of the Gym server",
		"helmfile.reference":     "helmfile.reference.yaml: a helmfile: it installs the operators that runs need",
		"kai-queue":              "kai-queue.yaml: Queue rl: queues belong to the cluster",
		"kai-topology":           "kai-topology.yaml: Topology gb300-topology: topologies belong to the cluster",
	}
	example(t, examples[0])
	names, err := filepath.Glob(filepath.Join(examplesDir, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, names, len(examples)+len(others))
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		_, err := Import([]File{example(t, name)}, options)
		if slices.Contains(examples, name) {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, others[name])
		require.NotEmpty(t, others[name], "%s is not known", name)
	}
}

// All of the files together are not one run, but each workload takes the others along.
func TestObjectsBesideAWorkloadAreListed(t *testing.T) {
	t.Parallel()
	files := []File{example(t, "kai-queue"), example(t, "disagg-rayclusters"), example(t, "endpoint-registry-rbac"), example(t, "helmfile.reference")}
	result, err := Import(files, options)
	require.NoError(t, err)
	var whole []string
	for _, d := range result.Dropped {
		if d.Path == "" {
			whole = append(whole, d.Object)
		}
	}
	require.Equal(t, []string{
		"Queue/root", "Queue/rl", "Queue/backfill",
		"ServiceAccount/nemo-rl-endpoint-registry", "Role/nemo-rl-endpoint-registry", "RoleBinding/nemo-rl-endpoint-registry",
		"helmfile.reference.yaml",
	}, whole)
}

// The program that an infra file submits arrives word for word.
func TestTheEntrypointOfAnInfraFileArrivesWordForWord(t *testing.T) {
	t.Parallel()
	for _, name := range examples {
		if !strings.HasSuffix(name, ".infra") {
			continue
		}
		file := example(t, name)
		objects, err := readObjects(file)
		require.NoError(t, err)
		value, err := interpolate(objects[0].root, options.User)
		require.NoError(t, err)
		entrypoint := value.(map[string]any)["launch"].(map[string]any)["entrypoint"]
		result, err := Import([]File{file}, options)
		require.NoError(t, err)
		require.Equal(t, []string{"/bin/bash", "-o", "pipefail", "-c", entrypoint.(string)}, result.Run.Spec.Driver.Command)
	}
}

func TestFilesOfOtherKindsAreNotMistakenForInfraFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "the files are empty",
		"# nothing":                     "the files are empty",
		"grpo: {}":                      "x.yaml: a NeMo-RL recipe: it says what is trained, not where",
		"infra: {image: a}":             "x.yaml: a NeMo-RL recipe",
		"a: 1":                          "x.yaml: a YAML: it has no kind",
		"[1]":                           "x.yaml: a YAML: it has no kind",
		"apiVersion: v1\nkind: Service": "x.yaml: Service : it is no part of the run's Ray clusters",
		"apiVersion: tandem.dev/v1alpha1\nkind: Run\nmetadata: {name: r}": "x.yaml: Run r: it is a Run file already",
	} {
		_, err := Import([]File{{Name: "x.yaml", Data: []byte(text)}}, options)
		require.ErrorContains(t, err, want, text)
	}
}
