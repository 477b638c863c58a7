package registry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeMembers reads a JSON list of strings. NeMo-RL may write null for a server without a URL: those are dropped.
func decodeMembers(key, value string) ([]string, error) {
	if value == "" {
		return nil, nil
	}
	var list []*string
	if err := json.Unmarshal([]byte(value), &list); err != nil {
		return nil, fmt.Errorf("%w: key %q holds %.40q, not a JSON list: %w", ErrBadValue, key, value, err)
	}
	members := make([]string, 0, len(list))
	for _, member := range list {
		if member != nil {
			members = append(members, *member)
		}
	}
	slices.Sort(members)
	return slices.Compact(members), nil
}

// Members reads a value that holds a list, as [Store.Get] and [Store.List] return it.
func Members(value string) ([]string, error) { return decodeMembers("", value) }

// checkText refuses what JSON would change on its way.
func checkText(key, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: key %q: %.40q is not UTF-8", ErrBadValue, key, text)
	}
	return nil
}

func checkMember(key, member string) error {
	if member == "" {
		return fmt.Errorf("%w: key %q: a member may not be empty", ErrBadValue, key)
	}
	return checkText(key, member)
}

// encodeMembers writes a list as Python's json.dumps does, so that both sides produce the same bytes.
func encodeMembers(members []string) string {
	quoted := make([]string, len(members))
	for i, member := range members {
		quoted[i] = quote(member)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`,
}

// quote is json.dumps of a string: everything outside printable ASCII is escaped, and & < > are not.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		short, special := shortEscapes[r]
		switch {
		case special:
			b.WriteString(short)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
