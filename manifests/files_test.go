package manifests_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/tandem-rl/tandem/manifests"
)

func TestKustomizePatchesWhatIsSplit(t *testing.T) {
	t.Parallel()
	dir, overlay := filepath.Join(t.TempDir(), "base"), t.TempDir()
	objects := render(t, load(t, "disagg-raycluster"))
	require.NoError(t, manifests.WriteFiles(dir, objects))
	require.FileExists(t, filepath.Join(dir, "kustomization.yaml"))

	base, err := filepath.Rel(overlay, dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(`
resources: [`+base+`]
patches:
- target: {kind: RayCluster}
  patch: |
    - {op: add, path: /metadata/annotations, value: {example.com/patched: "yes"}}
`), 0o644))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	require.NoError(t, err)
	require.Equal(t, len(objects), built.Size())
	text, err := built.AsYaml()
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(text, []byte(`example.com/patched: "yes"`)))
}

func TestAFolderWithSomethingInItIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644))
	err := manifests.WriteFiles(dir, render(t, load(t, "disagg-jobset")))
	require.ErrorIs(t, err, manifests.ErrNotEmpty)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
