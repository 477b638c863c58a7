package gymconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds what anchors can blow a file up to.
const maxNodes = 1_000_000

// yamlReader makes nodes of what the YAML library parses.
type yamlReader struct {
	count int
	open  []*yaml.Node // aliases that are being followed
}

// parseYAML reads one document as OmegaConf does. An empty one is an empty mapping.
func parseYAML(data []byte) (*node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return newMapping(), nil
	case err != nil:
		return nil, plainYAMLError(err)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return nil, fmt.Errorf("line %d: a second YAML document; a recipe is one", next.Line)
	case !errors.Is(err, io.EOF):
		return nil, plainYAMLError(err)
	}
	out, err := new(yamlReader).node(document.Content[0])
	if err == nil && out.kind == scalarKind && out.scalar == nil {
		return newMapping(), nil
	}
	return out, err
}

func plainYAMLError(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
}

func (y *yamlReader) node(n *yaml.Node) (*node, error) {
	if y.count++; y.count > maxNodes {
		return nil, fmt.Errorf("line %d: more than %d values", n.Line, maxNodes)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return y.alias(n)
	case yaml.MappingNode:
		return y.mapping(n)
	case yaml.SequenceNode:
		out := &node{kind: listKind}
		for _, item := range n.Content {
			child, err := y.node(item)
			if err != nil {
				return nil, err
			}
			out.add(child)
		}
		return out, knownTag(n, "!!seq")
	default:
		value, err := scalarOf(n)
		return newScalar(value), err
	}
}

func (y *yamlReader) alias(n *yaml.Node) (*node, error) {
	if slices.Contains(y.open, n.Alias) {
		return nil, fmt.Errorf("line %d: *%s holds itself", n.Line, n.Value)
	}
	y.open = append(y.open, n.Alias)
	defer func() { y.open = y.open[:len(y.open)-1] }()
	return y.node(n.Alias)
}

func knownTag(n *yaml.Node, want string) error {
	if n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != want {
		return fmt.Errorf("line %d: the tag %s means nothing to OmegaConf", n.Line, n.ShortTag())
	}
	return nil
}

// scalarTag is the type of a scalar: that of its tag, a string in quotes, or what a plain one looks like.
func scalarTag(n *yaml.Node) string {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return n.ShortTag()
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return tagStr
	default:
		return plainTag(n.Value)
	}
}

func scalarOf(n *yaml.Node) (any, error) {
	tag := scalarTag(n)
	if !slices.Contains([]string{tagNull, tagBool, tagInt, tagFloat, tagStr}, tag) {
		if n.Style&yaml.TaggedStyle == 0 {
			return nil, fmt.Errorf("line %d: a bare %s means nothing to OmegaConf; put it in quotes", n.Line, n.Value)
		}
		return nil, fmt.Errorf("line %d: the tag %s is not supported", n.Line, tag)
	}
	value, err := constructScalar(tag, n.Value)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", n.Line, err)
	}
	return value, nil
}

// mapping puts merged keys (<<) first, and then its own; the last of several counts, which for strings is an error.
func (y *yamlReader) mapping(n *yaml.Node) (*node, error) {
	if err := knownTag(n, "!!map"); err != nil {
		return nil, err
	}
	if err := uniqueKeys(n); err != nil {
		return nil, err
	}
	out := newMapping()
	pairs, err := y.flatten(n, nil)
	if err != nil {
		return nil, err
	}
	for _, one := range pairs {
		key, err := keyOf(one[0])
		if err != nil {
			return nil, err
		}
		value, err := y.node(one[1])
		if err != nil {
			return nil, err
		}
		out.set(key, value)
	}
	return out, nil
}

func uniqueKeys(n *yaml.Node) error {
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || scalarTag(key) != tagStr {
			continue
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: the key %q is there twice", key.Line, key.Value)
		}
		seen[key.Value] = true
	}
	return nil
}

func keyOf(n *yaml.Node) (any, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return nil, fmt.Errorf("line %d: a key must be a scalar", n.Line)
	}
	if scalarTag(n) == tagValue {
		return n.Value, nil
	}
	value, err := scalarOf(n)
	if err == nil && value == nil {
		return nil, fmt.Errorf("line %d: a key cannot be null", n.Line)
	}
	return value, err
}

// flatten lists the pairs of a mapping, those of its merges first.
func (y *yamlReader) flatten(n *yaml.Node, above []*yaml.Node) ([][2]*yaml.Node, error) {
	if slices.Contains(above, n) {
		return nil, fmt.Errorf("line %d: a merge of itself", n.Line)
	}
	above = append(above, n)
	var merged, own [][2]*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || scalarTag(key) != tagMerge {
			own = append(own, [2]*yaml.Node{key, value})
			continue
		}
		pairs, err := y.merge(value, above)
		if err != nil {
			return nil, err
		}
		merged = append(merged, pairs...)
	}
	if y.count += len(merged); y.count > maxNodes {
		return nil, fmt.Errorf("line %d: more than %d values", n.Line, maxNodes)
	}
	return append(merged, own...), nil
}

// merge lists the pairs of what stands behind <<: of several mappings the first counts most.
func (y *yamlReader) merge(value *yaml.Node, above []*yaml.Node) ([][2]*yaml.Node, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch value.Kind {
	case yaml.MappingNode:
		return y.flatten(value, above)
	case yaml.SequenceNode:
		var out [][2]*yaml.Node
		for _, item := range slices.Backward(value.Content) {
			if item.Kind == yaml.AliasNode {
				item = item.Alias
			}
			if item.Kind != yaml.MappingNode {
				return nil, fmt.Errorf("line %d: << merges mappings only", item.Line)
			}
			pairs, err := y.flatten(item, above)
			if err != nil {
				return nil, err
			}
			out = append(out, pairs...)
		}
		return out, nil
	}
	return nil, fmt.Errorf("line %d: << merges mappings only", value.Line)
}
