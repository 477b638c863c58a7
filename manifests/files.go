package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// ErrNotEmpty: what lies in a folder would be mixed with what is written, and the rest of an earlier run taken for a part of this one.
var ErrNotEmpty = errors.New("the folder is not empty")

// WriteFiles writes each object into a file of its own, numbered in the order in which they are applied, and a kustomization.yaml that lists
// them. The folder is made if need be, and must be empty.
func WriteFiles(dir string, objects []*unstructured.Unstructured) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%s: %w (%s): choose another, or remove what is in it", dir, ErrNotEmpty, found[0].Name())
	}
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = fmt.Sprintf("%02d-%s-%s.yaml", i+1, strings.ToLower(object.GetKind()), object.GetName())
		if err := writeNew(dir, names[i], object.Object); err != nil {
			return err
		}
	}
	return writeNew(dir, "kustomization.yaml", map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": names,
	})
}

// writeNew never writes over a file: two that write into one folder at the same moment are told.
func writeNew(dir, name string, content any) (err error) {
	data, err := yaml.Marshal(content)
	if err != nil {
		return fmt.Errorf("printing %s: %w", name, err)
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w (%s): somebody else writes into it", dir, ErrNotEmpty, name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(data)
	return err
}
