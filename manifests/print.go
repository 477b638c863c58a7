package manifests

import (
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// WriteYAML writes the objects as a stream of YAML documents with sorted keys.
func WriteYAML(w io.Writer, objects []*unstructured.Unstructured) error {
	for i, object := range objects {
		data, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("printing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		separator := "---\n"
		if i == 0 {
			separator = ""
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, data); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the objects as one List, as kubectl does.
func WriteJSON(w io.Writer, objects []*unstructured.Unstructured) error {
	items := make([]any, len(objects))
	for i, object := range objects {
		items[i] = object.Object
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}
