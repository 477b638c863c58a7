package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// whole is what a part of spec is tried in; the part wins.
const whole = `
backend: raycluster
image: registry.example/trainer:1
clusters: [{name: rl}]
driver: {cluster: rl, command: [python, train.py]}
`

func TestEveryBlockOfTheRunFilePagesIsValid(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"run-file.md", "scheduling.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		blocks := yamlBlock.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks)
		for _, block := range blocks {
			if strings.Contains(block[1], "kind: Queue") {
				continue // the administrator's, and tried with KAI's own CRDs in package kai
			}
			run, err := v1alpha1.Load(asRun(t, block[1]))
			require.NoError(t, err, "%s:\n%s", page, block[1])
			run.Metadata.Namespace = "post-train"
			_, err = manifests.Render(run)
			require.NoError(t, err, "%s:\n%s", page, block[1])
		}
	}
}

// asRun completes a part of spec.
func asRun(t *testing.T, block string) []byte {
	t.Helper()
	if strings.HasPrefix(block, "apiVersion:") {
		return []byte(block)
	}
	spec := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(whole), &spec))
	require.NoError(t, yaml.Unmarshal([]byte(block), &spec))
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.Kind, "metadata": map[string]any{"name": "run7"}, "spec": spec,
	})
	require.NoError(t, err)
	return data
}
