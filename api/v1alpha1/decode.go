package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Load decodes a Run file, sets its defaults and validates it.
// The error is an *InvalidError unless the file is not YAML at all.
func Load(data []byte) (*Run, error) {
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	found := walk(root, reflect.TypeFor[Run]())
	if len(found.problems) > 0 {
		return nil, asError(append(found.problems, found.further(root)...))
	}
	run, err := found.decode(root)
	if err != nil {
		return nil, err
	}
	run.SetDefaults()
	if err := asError(run.lines.withLines(run.Validate())); err != nil {
		return nil, err
	}
	return run, nil
}

// Decode reads a Run file strictly: a field that does not exist, a field given twice and a value of the wrong type are problems.
// The error is an *InvalidError unless the file is not YAML at all.
func Decode(data []byte) (*Run, error) {
	root, err := parse(data)
	if err != nil {
		return nil, err
	}
	found := walk(root, reflect.TypeFor[Run]())
	if err := asError(found.problems); err != nil {
		return nil, err
	}
	return found.decode(root)
}

// decode goes by the tree that was walked, so that what was checked is what is read.
func (w *walker) decode(root *yaml.Node) (*Run, error) {
	run := &Run{lines: w.lines}
	var value any
	if err := root.Decode(&value); err != nil {
		return nil, fmt.Errorf("decoding the Run file: %w", err)
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, run)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the Run file: %w", err)
	}
	return run, nil
}

// maxBytes is far more than a run of a thousand clusters needs. A file of another kind, once parsed, takes two hundred times its size.
const maxBytes = 2 << 20

// parse returns the only document of a file.
func parse(data []byte) (*yaml.Node, error) {
	if len(data) > maxBytes {
		return nil, asError([]Problem{{Message: fmt.Sprintf("the file has %d bytes; a Run file has at most %d", len(data), maxBytes)}})
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF), err == nil && isEmpty(&document):
		return nil, asError([]Problem{{Message: "the file is empty; a Run file starts with apiVersion: " + APIVersion}})
	case err != nil:
		return nil, notYAML(data, err)
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, asError([]Problem{{Line: next.Line, Message: "a second document; one file describes one run"}})
	}
	return document.Content[0], nil
}

// isEmpty: nothing but comments.
func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null" && document.Content[0].Value == ""
}
