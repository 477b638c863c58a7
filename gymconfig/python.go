package gymconfig

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// pythonString is str() of a value: what a reference within a string becomes.
func pythonString(value any) string {
	if text, is := value.(string); is {
		return text
	}
	return pythonRepr(value)
}

// pythonRepr is repr() of a value. Containers show their references as they are written.
func pythonRepr(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case *big.Int:
		return v.String()
	case float64:
		return floatRepr(v)
	case string:
		return stringRepr(v)
	case *node:
		return nodeRepr(v)
	default:
		return fmt.Sprint(v)
	}
}

func nodeRepr(n *node) string {
	var parts []string
	switch n.kind {
	case mappingKind:
		for _, one := range n.entries {
			parts = append(parts, pythonRepr(one.key)+": "+nodeRepr(one.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case listKind:
		for _, item := range n.items {
			parts = append(parts, nodeRepr(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return pythonRepr(n.scalar)
	}
}

// floatRepr has the digits that it takes to read the same number again, and an exponent below 1e-4 and from 1e16 on.
func floatRepr(value float64) string {
	switch {
	case math.IsNaN(value):
		return "nan"
	case math.IsInf(value, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(value, 'g', -1, 64)), "+")
	}
	if size := math.Abs(value); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(value, 'e', -1, 64)
	}
	text := strconv.FormatFloat(value, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func stringRepr(text string) string {
	quote := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var out strings.Builder
	out.WriteRune(quote)
	for _, r := range text {
		switch {
		case r == quote || r == '\\':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			out.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	out.WriteRune(quote)
	return out.String()
}

// typeName is Python's name of a value's type.
func typeName(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case *big.Int:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a string"
	case *node:
		if v.kind == listKind {
			return "a list"
		}
		return "a mapping"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// integer is the value as an int; a bool is one too.
func integer(value any) (*big.Int, bool) {
	switch v := value.(type) {
	case bool:
		if v {
			return big.NewInt(1), true
		}
		return big.NewInt(0), true
	case *big.Int:
		return v, true
	}
	return nil, false
}

// float is the value as a float.
func float(value any) (float64, bool) {
	if f, is := value.(float64); is {
		return f, true
	}
	i, is := integer(value)
	if !is {
		return 0, false
	}
	f, _ := new(big.Float).SetInt(i).Float64()
	return f, true
}
