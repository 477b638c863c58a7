package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAClusterThatIsUpIsLeftAlone: it may be somebody else's bench.
func TestAClusterThatIsUpIsLeftAlone(t *testing.T) {
	bin := t.TempDir()
	asked := filepath.Join(bin, "asked")
	program := "#!/bin/sh\necho \"$1\" >> " + asked + "\ntest \"$1\" = status\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "tandem-local"), []byte(program), 0o700))
	err := run(t.Context(), []string{"--bin=" + bin}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "cluster bench is up already")
	require.ErrorContains(t, err, "tandem-local down --name=bench")
	raw, err := os.ReadFile(asked)
	require.NoError(t, err)
	require.Equal(t, "status\n", string(raw), "neither used nor taken down")
}
