package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sources are the files that the binaries are built from, as far as they are in this folder.
var sources = []string{"go.sum", "kwok/go.sum", "cmd/coredns/main.go", "cmd/pause/main.go"}

func TestTheFolderOfTheBinariesIsNamedByAllThatTheyAreBuiltFrom(t *testing.T) {
	source := t.TempDir()
	for _, file := range sources {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(source, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(source, file), []byte("1"), 0o644))
	}
	c := Config{Source: source, Cache: "/cache"}
	assets := func() string {
		dir, err := Assets(c)
		require.NoError(t, err)
		return dir
	}
	first := assets()
	require.Equal(t, first, assets())
	require.Equal(t, "/cache/bin", filepath.Dir(first))
	seen := map[string]bool{first: true}
	for _, file := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(source, file), []byte("2"), 0o644))
		require.False(t, seen[assets()], "a change of %s makes no difference", file)
		seen[assets()] = true
	}
	was := binaries
	t.Cleanup(func() { binaries = was })
	binaries = append([]binary{{name: "more", pkg: "example.com/more"}}, was...)
	require.False(t, seen[assets()], "one binary more makes no difference")

	require.NoError(t, os.Remove(filepath.Join(source, "kwok/go.sum")))
	_, err := Assets(c)
	require.ErrorContains(t, err, source+" is not the folder of cluster/local")
	require.ErrorContains(t, err, "--source")
}
