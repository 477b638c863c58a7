package v1alpha1

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// further validates what can be decoded of a file that has problems already, so that all are reported at once. What follows from the
// problems found is left out: that a misspelt field is missing, or that a value which cannot be read is.
func (w *walker) further(root *yaml.Node) []Problem {
	var value any
	copier := without{w, map[*yaml.Node]*yaml.Node{}}
	if err := copier.copy(root).Decode(&value); err != nil {
		return nil // what was found says why
	}
	data, err := json.Marshal(value)
	run := &Run{lines: w.lines}
	if err != nil || json.Unmarshal(data, run) != nil {
		return nil
	}
	run.SetDefaults()
	known := slices.Clone(w.meant)
	for _, problem := range w.problems {
		known = append(known, problem.Field)
	}
	return slices.DeleteFunc(run.lines.withLines(run.Validate()), func(p Problem) bool {
		ofTemplate := strings.HasSuffix(p.Field, "podTemplate") // one that cannot be merged, for what is known of a field in it
		return slices.ContainsFunc(known, func(path string) bool { return follows(p.Field, path) || ofTemplate && follows(path, p.Field) })
	})
}

// follows: the path is that of a known problem, or within it.
func follows(path, known string) bool {
	rest, within := strings.CutPrefix(path, known)
	return within && (known == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// without copies a tree and leaves out what cannot be decoded. It holds the copies, for aliases and for nodes that hold themselves.
type without struct {
	*walker
	copies map[*yaml.Node]*yaml.Node
}

func (w without) copy(node *yaml.Node) *yaml.Node {
	if known := w.copies[node]; known != nil {
		return known
	}
	kept := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	w.copies[node] = kept
	if w.wrong[node] {
		return kept // an item of a list keeps its place
	}
	*kept = *node
	kept.Content = nil
	if node.Alias != nil {
		kept.Alias = w.copy(node.Alias)
	}
	for i, child := range node.Content {
		if pair := i - i%2; node.Kind == yaml.MappingNode && (w.doubled[node.Content[pair]] || w.isWrong(node.Content[pair+1])) {
			continue
		}
		kept.Content = append(kept.Content, w.copy(child))
	}
	return kept
}

func (w without) isWrong(node *yaml.Node) bool {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return w.wrong[node]
}
