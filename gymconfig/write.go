package gymconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// WriteYAML writes the section for OmegaConf to read.
func (r *Result) WriteYAML(w io.Writer) error {
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(yamlNode(r.section)); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	return encoder.Close()
}

func yamlNode(n *node) *yaml.Node {
	switch n.kind {
	case mappingKind:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, one := range n.entries {
			out.Content = append(out.Content, yamlScalar(one.key), yamlNode(one.value))
		}
		return flowIfEmpty(out)
	case listKind:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range n.items {
			out.Content = append(out.Content, yamlNode(item))
		}
		return flowIfEmpty(out)
	default:
		return yamlScalar(n.scalar)
	}
}

func flowIfEmpty(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

// yamlScalar writes a scalar such that YAML 1.1 and 1.2 read the same.
func yamlScalar(value any) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := value.(type) {
	case nil:
		out.Tag, out.Value = tagNull, "null"
	case bool:
		out.Tag, out.Value = tagBool, fmt.Sprint(v)
	case *big.Int:
		out.Tag, out.Value = tagInt, v.String()
	case float64:
		out.Tag, out.Value = tagFloat, yamlFloatText(v)
	default:
		text := pythonString(v)
		out.Tag, out.Value = tagStr, text
		switch {
		case strings.ContainsFunc(text, needsEscape):
			out.Style = yaml.DoubleQuotedStyle
		case strings.Contains(text, "\n") && isBlock(text):
			out.Style = yaml.LiteralStyle
		case strings.Contains(text, "\n"):
			out.Style = yaml.DoubleQuotedStyle
		case plainTag(text) != tagStr || looksTyped(text):
			out.Style = yaml.SingleQuotedStyle
		}
	}
	return out
}

func yamlFloatText(value float64) string {
	switch {
	case math.IsNaN(value):
		return ".nan"
	case math.IsInf(value, 1):
		return ".inf"
	case math.IsInf(value, -1):
		return "-.inf"
	default:
		return floatRepr(value)
	}
}

// looksTyped says whether YAML 1.2 reads a plain scalar as something other than a string.
func looksTyped(text string) bool {
	var parsed yaml.Node
	return yaml.Unmarshal([]byte("- "+text), &parsed) == nil && len(parsed.Content) == 1 &&
		len(parsed.Content[0].Content) == 1 && parsed.Content[0].Content[0].ShortTag() != tagStr
}

func needsEscape(r rune) bool {
	return r != '\n' && r != ' ' && !unicode.IsPrint(r) || r == unicode.ReplacementChar
}

// isBlock says whether a text of several lines can be written as a block and read again without loss.
func isBlock(text string) bool {
	return !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, "\n") && !strings.HasSuffix(text, "\n\n") && !strings.Contains(text, " \n")
}

// WriteJSON writes the section as JSON, which OmegaConf reads too. JSON has no infinite numbers and no keys but strings.
func (r *Result) WriteJSON(w io.Writer) error {
	var compact, out bytes.Buffer
	if err := writeJSON(&compact, r.section); err != nil {
		return fmt.Errorf("%w; use YAML", err)
	}
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	out.WriteByte('\n')
	_, err := out.WriteTo(w)
	return err
}

func writeJSON(out *bytes.Buffer, n *node) error {
	switch n.kind {
	case mappingKind:
		return writeObject(out, n)
	case listKind:
		out.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := writeJSON(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	default:
		return writeJSONScalar(out, n.scalar)
	}
}

func writeObject(out *bytes.Buffer, n *node) error {
	out.WriteByte('{')
	for i, one := range n.entries {
		if i > 0 {
			out.WriteByte(',')
		}
		if _, is := one.key.(string); !is {
			return fmt.Errorf("JSON has no key like %s, which is %s", pythonRepr(one.key), typeName(one.key))
		}
		if err := writeJSONScalar(out, one.key); err != nil {
			return err
		}
		out.WriteByte(':')
		if err := writeJSON(out, one.value); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func writeJSONScalar(out *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case nil:
		out.WriteString("null")
	case bool:
		fmt.Fprint(out, v)
	case *big.Int:
		out.WriteString(v.String())
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("JSON has no number like %s", pythonRepr(v))
		}
		out.WriteString(floatRepr(v))
	default:
		return writeJSONString(out, pythonString(v))
	}
	return nil
}

// writeJSONString escapes more than JSON asks for: the reader is one of YAML, which refuses some characters.
func writeJSONString(out *bytes.Buffer, text string) error {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	for _, r := range strings.TrimSuffix(quoted.String(), "\n") {
		if needsEscape(r) && r < 0x10000 {
			fmt.Fprintf(out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return nil
}
