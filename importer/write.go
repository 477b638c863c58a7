package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yaml writes the Run in the order of its fields, with a mark at each field that needs the user.
func (m *maker) yaml() ([]byte, error) {
	data, err := json.Marshal(m.run)
	if err != nil {
		return nil, fmt.Errorf("encoding the Run: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("encoding the Run: %w", err)
	}
	root := document.Content[0]
	root.HeadComment = "Imported from " + strings.Join(m.sources(), ", ")
	dropEmpty(root)
	forPeople(root)
	for _, n := range m.needs {
		mark(root, n)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("encoding the Run: %w", err)
	}
	return out.Bytes(), nil
}

func (m *maker) sources() []string {
	var out []string
	for _, o := range m.objects {
		if !slices.Contains(out, o.file) {
			out = append(out, o.file)
		}
	}
	return out
}

// structs are fields that Go writes even where they are empty.
var structs = []string{"failure", "scheduling", "portRanges", "ports", "head"}

// durations are fields that Go writes with all units, and some of them where they are not set.
var durations = []string{"startupGrace", "unreadyGrace", "ttlAfterFinished", "activeDeadline", "idleTimeout", "stalenessGracePeriod"}

// shortDuration is 15m for 15m0s, and 1h for 1h0m0s.
func shortDuration(text string) string {
	if short, is := strings.CutSuffix(text, "m0s"); is {
		text = short + "m"
	}
	if short, is := strings.CutSuffix(text, "h0m"); is {
		text = short + "h"
	}
	return text
}

// dropEmpty leaves out what a person would not write. It does not look into overlays and volumes, where an empty value has a meaning.
func dropEmpty(n *yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			dropEmpty(item)
		}
	case yaml.MappingNode:
		var kept []*yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if slices.Contains(durations, key.Value) {
				value.Value = shortDuration(value.Value)
			}
			if key.Value != "podTemplate" && key.Value != "volumes" {
				dropEmpty(value)
			}
			empty := value.Kind == yaml.MappingNode && len(value.Content) == 0 && slices.Contains(structs, key.Value)
			if unset := slices.Contains(durations, key.Value) && value.Value == "0s"; !empty && !unset {
				kept = append(kept, key, value)
			}
		}
		n.Content = kept
	}
}

// forPeople writes block style, texts of several lines as such, and short lists on one line.
func forPeople(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n") {
		n.Style = yaml.LiteralStyle
	}
	for _, child := range n.Content {
		forPeople(child)
	}
	if isShort(n) {
		n.Style = yaml.FlowStyle
	}
}

// isShort: a collection of scalars that fits on a line.
func isShort(n *yaml.Node) bool {
	if n.Kind != yaml.SequenceNode && n.Kind != yaml.MappingNode {
		return false
	}
	length := 0
	for _, child := range n.Content {
		if child.Kind != yaml.ScalarNode || child.Style == yaml.LiteralStyle {
			return false
		}
		length += len(child.Value) + 2
	}
	return length < 90
}

// mark puts the text of a need at the field that it is about.
func mark(root *yaml.Node, n need) {
	at := root
	for _, key := range strings.Split(n.field, ".") {
		next := entry(at, key)
		if next == nil {
			return
		}
		if value := next[1]; strings.HasSuffix(n.field, key) {
			next[0].HeadComment = strings.TrimSpace(next[0].HeadComment + "\nneeds: " + n.text)
			at = value
		} else {
			at = value
		}
	}
}

func entry(mapping *yaml.Node, key string) []*yaml.Node {
	for i := 0; i+1 < len(mapping.Content) && mapping.Kind == yaml.MappingNode; i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i : i+2]
		}
	}
	return nil
}
