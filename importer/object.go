package importer

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// object is one document of a file.
type object struct {
	*ledger
	file, group, kind, name string
	// raw is the document as it was written, for what depends on anchors.
	raw *yaml.Node
	// used tells that something of the object is in the Run.
	used bool
}

// readObjects reads all documents. What is no Kubernetes object is recognised by what is in it.
func readObjects(file File) ([]*object, error) {
	if isHelmfile(file.Data) {
		return []*object{{ledger: newLedger(file.Name, string(file.Data)), file: file.Name, kind: kindHelmfile, name: file.Name}}, nil
	}
	roots, err := documents(file)
	if err != nil {
		return nil, err
	}
	var out []*object
	for _, root := range roots {
		value, err := plain(root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name, err)
		}
		for _, one := range listed(value) {
			out = append(out, newObject(file, root, one))
		}
	}
	return out, nil
}

// listed are the items of a List, as kubectl prints it.
func listed(value any) []any {
	mapping, _ := value.(map[string]any)
	if items, is := mapping["items"].([]any); is && mapping["kind"] == "List" {
		return items
	}
	return []any{value}
}

func newObject(file File, raw *yaml.Node, value any) *object {
	mapping, _ := value.(map[string]any)
	metadata, _ := mapping["metadata"].(map[string]any)
	kind, _ := mapping["kind"].(string)
	name, _ := metadata["name"].(string)
	if kind == "" {
		kind, name = kindOf(mapping), file.Name
	}
	title := kind + "/" + name
	if mapping["kind"] == nil {
		title = file.Name
	}
	o := &object{file: file.Name, kind: kind, name: name, raw: raw, group: groupOf(mapping)}
	o.ledger = newLedger(title, value)
	return o
}
