// Package docs_test holds what the documentation says against the repository.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link   = regexp.MustCompile(`\]\(([^)#]+)\)`)
	target = regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z-]*)")
)

// pages are README.md and every page in docs.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"../README.md"}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			list = append(list, path)
		}
		return err
	}))
	return list
}

func TestLinksLeadToFiles(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(match[1], "://") {
				require.FileExists(t, asFile(t, filepath.Join(filepath.Dir(page), match[1])), "%s in %s", match[1], page)
			}
		}
	}
}

// asFile lets a link to a folder lead to something in it.
func asFile(t *testing.T, path string) string {
	t.Helper()
	files, err := os.ReadDir(path)
	if err != nil || len(files) == 0 {
		return path
	}
	for _, file := range files {
		if !file.IsDir() {
			return filepath.Join(path, file.Name())
		}
	}
	return asFile(t, filepath.Join(path, files[0].Name()))
}

func TestEveryTargetOfMakeThatIsNamedExists(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range target.FindAllStringSubmatch(string(text), -1) {
			require.True(t, strings.Contains(string(makefile), "\n"+match[1]+":"), "`make %s` in %s", match[1], page)
		}
	}
}
