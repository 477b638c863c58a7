package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/golden"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// The Runs of our own inputs, each of which loads and renders, with what was dropped and what is needed.
func TestInputsBecomeTheirGoldenRuns(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/in/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			result, err := Import([]File{read(t, name)}, options)
			require.NoError(t, err)
			base := filepath.Join("out", strings.TrimSuffix(filepath.Base(name), ".yaml"))
			golden.Assert(t, string(result.YAML), base+".run.golden.yaml")
			golden.Assert(t, report(result), base+".report.golden")
			run, err := v1alpha1.Load(result.YAML)
			require.NoError(t, err)
			run.Metadata.Namespace = "default"
			_, err = manifests.Render(run)
			require.NoError(t, err)
		})
	}
}

// kubectl prints several objects as a List.
func TestTheItemsOfAListAreObjects(t *testing.T) {
	t.Parallel()
	alone := read(t, "testdata/in/bare-raycluster.yaml")
	one, err := Import([]File{alone}, options)
	require.NoError(t, err)
	var item any
	require.NoError(t, yaml.Unmarshal(alone.Data, &item))
	data, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{item}})
	require.NoError(t, err)
	listed, err := Import([]File{{Name: alone.Name, Data: data}}, options)
	require.NoError(t, err)
	require.Equal(t, string(one.YAML), string(listed.YAML))
	require.Equal(t, one.Dropped, listed.Dropped)
}

// report has a line for each value that was dropped, and for each need.
func report(result *Result) string {
	var out strings.Builder
	for _, d := range result.Dropped {
		fmt.Fprintf(&out, "%s %s\n    %s\n", d.Object, d, d.Reason)
	}
	for _, need := range result.Needs {
		fmt.Fprintf(&out, "needs: %s\n", need)
	}
	return out.String()
}

func TestNothingIsReadTwiceAndTheSameInputGivesTheSameRun(t *testing.T) {
	t.Parallel()
	for _, name := range inputs(t) {
		file := read(t, name)
		before := string(file.Data)
		first := outcomeOf(file)
		require.Equal(t, first, outcomeOf(file))
		require.Equal(t, before, string(file.Data), "the input is only read")
		onDisk, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, before, string(onDisk))
	}
}
