// Package image writes container images without a container engine: one layer of files from this machine, one
// config, as a tarball that `ctr images import` and `docker load` read. The same files give the same bytes.
package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is what to write.
type Image struct {
	Tag        string            // such as tandem.dev/sidecars:dev
	Files      map[string]string // path in the image -> file on this machine; the file's mode is kept
	Links      map[string]string // path in the image -> target of a symbolic link
	Dirs       []string          // empty directories, writable by everyone, as /tmp is
	Entrypoint []string
	User       string // uid[:gid]; empty means root
	Env        []string
}

// WriteTo writes the image to file as a tarball.
func (i Image) WriteTo(file string) error {
	tag, err := name.NewTag(i.Tag, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("image tag %q: %w", i.Tag, err)
	}
	data, err := i.layer()
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	})
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	if img, err = i.configure(img); err != nil {
		return err
	}
	if err := tarball.WriteToFile(file, tag, img); err != nil {
		return fmt.Errorf("write image %s to %s: %w", i.Tag, file, err)
	}
	return nil
}

func (i Image) configure(img v1.Image) (v1.Image, error) {
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = runtime.GOARCH, "linux" // the files are of this machine
	file.Config.Entrypoint = i.Entrypoint
	file.Config.User = i.User
	file.Config.Env = append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, i.Env...)
	return mutate.ConfigFile(img, file)
}

// layer is the tar of the files, sorted, without owners and times.
func (i Image) layer() ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range i.parents() {
		if err := w.WriteHeader(header(dir+"/", tar.TypeDir, 0o755)); err != nil {
			return nil, err
		}
	}
	for _, dir := range i.Dirs {
		if err := w.WriteHeader(header(dir+"/", tar.TypeDir, 0o1777)); err != nil {
			return nil, err
		}
	}
	for _, dest := range slices.Sorted(maps.Keys(i.Files)) {
		if err := addFile(w, dest, i.Files[dest]); err != nil {
			return nil, err
		}
	}
	for _, dest := range slices.Sorted(maps.Keys(i.Links)) {
		h := header(dest, tar.TypeSymlink, 0o777)
		h.Linkname = i.Links[dest]
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}

// parents lists every folder that a file or link lies in, shortest first.
func (i Image) parents() []string {
	seen := map[string]bool{}
	for _, m := range []map[string]string{i.Files, i.Links} {
		for dest := range m {
			for dir := path.Dir(path.Clean("/" + dest)); dir != "/"; dir = path.Dir(dir) {
				seen[dir] = true
			}
		}
	}
	for _, dir := range i.Dirs {
		delete(seen, path.Clean("/"+dir))
	}
	return slices.Sorted(maps.Keys(seen))
}

func addFile(w *tar.Writer, dest, source string) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	h := header(dest, tar.TypeReg, int64(info.Mode().Perm()))
	h.Size = int64(len(data))
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

func header(dest string, kind byte, mode int64) *tar.Header {
	return &tar.Header{Name: strings.TrimPrefix(dest, "/"), Typeflag: kind, Mode: mode, ModTime: time.Unix(0, 0)}
}
