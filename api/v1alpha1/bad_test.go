package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// errorMark precedes each line of the message that a bad file must have; they follow the file, so that they move no line of it.
const errorMark = "# error: "

// The files of testdata/bad say in their first line what is wrong with them, and in their last ones what is said about it.
func TestEveryBadFileHasItsExactMessage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 150)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			run, _, _ := strings.Cut(string(data), errorMark)
			_, err = v1alpha1.Load([]byte(run))
			require.Error(t, err, "the file is valid")
			said := errorMark + strings.ReplaceAll(err.Error(), "\n", "\n"+errorMark) + "\n"
			if golden.FlagUpdate() {
				require.NoError(t, os.WriteFile(file, []byte(run+said), 0o644))
				return
			}
			require.Equal(t, string(data), run+said)
		})
	}
}

// A message names the field, and an invalid value is shown. What to do is in the words that follow, which only a person can judge.
func TestEveryMessageOfABadFileNamesLineAndField(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		_, said, found := strings.Cut(string(data), errorMark)
		require.True(t, found, file)
		for line := range strings.SplitSeq(strings.TrimSuffix(said, "\n"), "\n"+errorMark) {
			require.Regexp(t, `^line \d+: ([a-zA-Z]+(\.[a-zA-Z]+|\[[^\]]+\])*: .{15,}|not YAML: .+|a (tab|second document).+)$`, line, file)
		}
	}
}
