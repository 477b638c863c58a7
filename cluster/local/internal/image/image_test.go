package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
)

func example(t *testing.T) Image {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	return Image{
		Tag:        "tandem.dev/example:1",
		Files:      map[string]string{"/usr/bin/b": program, "/usr/bin/a": program},
		Links:      map[string]string{"/bin/sh": "../usr/bin/a"},
		Dirs:       []string{"/tmp", "/work"},
		Entrypoint: []string{"/usr/bin/a"},
		User:       "65535:65535",
		Env:        []string{"A=b"},
	}
}

func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	image, dir := example(t), t.TempDir()
	var twice [2][]byte
	for n := range twice {
		file := filepath.Join(dir, fmt.Sprint(n))
		require.NoError(t, image.WriteTo(file))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		twice[n] = data
	}
	require.Equal(t, twice[0], twice[1])
}

func TestAnImageReadsAsItWasWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, example(t).WriteTo(file))
	tag, err := name.NewTag("tandem.dev/example:1")
	require.NoError(t, err)
	image, err := tarball.ImageFromPath(file, &tag)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "linux/"+runtime.GOARCH, config.OS+"/"+config.Architecture)
	require.Equal(t, []string{"/usr/bin/a"}, config.Config.Entrypoint)
	require.Equal(t, "65535:65535", config.Config.User)
	require.Contains(t, config.Config.Env, "A=b")

	var got []string
	layers := mutate.Extract(image)
	defer layers.Close()
	for reader := tar.NewReader(layers); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%c %04o %s %s", h.Typeflag, h.Mode, h.Name, h.Linkname))
	}
	require.ElementsMatch(t, []string{
		"5 0755 bin ", "5 0755 usr ", "5 0755 usr/bin ", "5 1777 tmp ", "5 1777 work ",
		"0 0755 usr/bin/a ", "0 0755 usr/bin/b ", "2 0777 bin/sh ../usr/bin/a",
	}, got)
}

func TestAnImageThatCannotBeWrittenSaysWhy(t *testing.T) {
	image := example(t)
	image.Tag = "No Tag"
	require.ErrorContains(t, image.WriteTo(filepath.Join(t.TempDir(), "x")), `image tag "No Tag"`)
	image = example(t)
	image.Files["/gone"] = "/nowhere/gone"
	require.ErrorIs(t, image.WriteTo(filepath.Join(t.TempDir(), "x")), os.ErrNotExist)
}
