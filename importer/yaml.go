package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// documents of a YAML file.
func documents(file File) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(file.Data))
	var out []*yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		if root := document.Content[0]; root.Tag != "!!null" {
			out = append(out, root)
		}
	}
}

// plain is the value of a tree, with its anchors and merges resolved, of the types that JSON has.
func plain(root *yaml.Node) (any, error) {
	keepDates(root, map[*yaml.Node]bool{})
	var value any
	if err := root.Decode(&value); err != nil {
		return nil, err
	}
	return jsonTypes(value), nil
}

// keepDates makes a string of what looks like a date, as JSON has none.
func keepDates(n *yaml.Node, seen map[*yaml.Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, child := range n.Content {
		keepDates(child, seen)
	}
}

func jsonTypes(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = jsonTypes(v[key])
		}
		return v
	case map[any]any:
		out := map[string]any{}
		for key, item := range v {
			out[fmt.Sprint(key)] = jsonTypes(item)
		}
		return out
	case []any:
		for i := range v {
			v[i] = jsonTypes(v[i])
		}
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	default:
		return value
	}
}
