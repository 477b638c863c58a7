package manifests_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// Whatever a file holds, it is rendered or refused.
func FuzzRender(f *testing.F) {
	for _, pattern := range []string{"../examples/*.yaml", "testdata/runs/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(string(data))
		}
	}
	for _, tt := range odd {
		f.Add("apiVersion: tandem.dev/v1alpha1\nkind: Run\nmetadata: {name: a, namespace: b}\nspec:\n  backend: raycluster\n  image: a\n" +
			"  podTemplate: " + tt.patch + "\n  clusters: [{name: c, head: {}}]\n  driver: {cluster: c, command: [d], podTemplate: " + tt.patch + "}\n")
	}
	f.Fuzz(func(t *testing.T, file string) {
		run, err := v1alpha1.Load([]byte(file))
		if err != nil {
			return
		}
		run.Metadata.Namespace = "default"
		objects, err := manifests.Render(run)
		require.True(t, err != nil || len(objects) > 0, "neither rendered nor refused")
	})
}
