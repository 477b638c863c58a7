package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPathsAreMadeAbsoluteAndFollowLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	t.Chdir(dir)
	c, err := Config{Root: "link/clusters", Cache: "not/there/yet"}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "real/clusters"), c.Root)
	require.Equal(t, filepath.Join(dir, "not/there/yet"), c.Cache)

	_, err = Config{Root: "/etc/passwd/clusters"}.WithDefaults()
	require.ErrorContains(t, err, `root "/etc/passwd/clusters"`)
	require.ErrorContains(t, err, "choose another with --root")
}

func TestInstancesOfOneNameBelowDifferentRootsAreToldApart(t *testing.T) {
	names := map[string]bool{}
	for _, root := range []string{"", "/a", "/b"} {
		c, err := Config{Name: "x", Root: root}.WithDefaults()
		require.NoError(t, err)
		names[c.cgroupName()] = true
	}
	require.Len(t, names, 3)
	require.True(t, names["tandem-local-x"], "of the default root: %v", names)
}
