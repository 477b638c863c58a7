package importer

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Dropped is a value of the input that is not in the Run.
type Dropped struct {
	// Object is the kind and name of the object, as Kind/name.
	Object string
	// Path of the value within it; empty for the whole object.
	Path   string
	Value  any
	Reason string
}

// notKnown is the reason for what nobody asked for.
const notKnown = "the Run file has no field for it"

// ledger keeps the accounts of one object: which of its values have been read, and which are dropped.
type ledger struct {
	object  string
	root    any
	read    map[string]bool // by the path of a leaf
	dropped []Dropped
	wrong   []error
	isWrong map[string]bool // by path
}

func newLedger(object string, root any) *ledger {
	return &ledger{object: object, root: root, read: map[string]bool{}, isWrong: map[string]bool{}}
}

// node is a place in an object. A place that is not there has no value, and nothing below it.
type node struct {
	ledger *ledger
	path   string
	value  any
	there  bool
}

func (l *ledger) node() node { return node{ledger: l, value: l.root, there: true} }

// leaves visits every value that is no mapping or list, and those that are empty, in order.
func leaves(path string, value any, visit func(path string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			leaves(keyPath(path, key), v[key], visit)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, item := range v {
			leaves(itemPath(path, i), item, visit)
		}
		if len(v) > 0 {
			return
		}
	}
	visit(path, value)
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func keyPath(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return fmt.Sprintf("%s[%s]", path, key)
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

func itemPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// unread lists the values that nobody has asked for.
func (l *ledger) unread() []Dropped {
	var out []Dropped
	leaves("", l.root, func(path string, value any) {
		if !l.read[path] {
			out = append(out, Dropped{l.object, path, value, notKnown})
		}
	})
	return out
}

// close lists what was dropped, in the order of the paths.
func (l *ledger) close() []Dropped {
	out := append(slices.Clone(l.dropped), l.unread()...)
	slices.SortStableFunc(out, func(a, b Dropped) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// at is the place below by keys.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		value, there := n.mapping()[key]
		n = node{n.ledger, keyPath(n.path, key), value, there}
	}
	return n
}

// mapping is the value; what is there and is none is wrong.
func (n node) mapping() map[string]any {
	mapping, is := n.value.(map[string]any)
	if !is && n.value != nil {
		n.wrongf("must be a mapping of field: value, not %v", n.value)
	}
	return mapping
}

// items are the places of a list. What is there and is no list is wrong.
func (n node) items() []node {
	list, is := n.value.([]any)
	if !is && n.value != nil {
		n.wrongf("must be a list, not %v", n.value)
	}
	out := make([]node, len(list))
	for i, item := range list {
		out[i] = node{n.ledger, itemPath(n.path, i), item, true}
	}
	return out
}

// keys of a mapping, sorted.
func (n node) keys() []string {
	return slices.Sorted(maps.Keys(n.mapping()))
}

// named is the item of a list that has the name.
func (n node) named(name string) node {
	for _, item := range n.items() {
		if item.at("name").value == name {
			return item
		}
	}
	return node{ledger: n.ledger, path: n.path + "[" + name + "]"}
}

// take marks the value and all below as read, and returns it.
func (n node) take() any {
	if n.there {
		leaves(n.path, n.value, func(path string, _ any) { n.ledger.read[path] = true })
	}
	return n.value
}

// is takes the value if it is the one given.
func (n node) is(value any) bool {
	if !n.there || fmt.Sprint(n.value) != fmt.Sprint(value) {
		return false
	}
	n.take()
	return true
}

// drop marks all that is unread below as dropped.
func (n node) drop(reason string) {
	if !n.there {
		return
	}
	leaves(n.path, n.value, func(path string, value any) {
		if !n.ledger.read[path] {
			n.ledger.read[path] = true
			n.ledger.dropped = append(n.ledger.dropped, Dropped{n.ledger.object, path, value, reason})
		}
	})
}

// dropPart says that a part of a value which is otherwise read is dropped.
func (n node) dropPart(part, reason string) {
	n.ledger.dropped = append(n.ledger.dropped, Dropped{n.ledger.object, n.path, part, reason})
}

// dropUnless takes the value if it is the one that tandem renders, and drops it otherwise.
func (n node) dropUnless(value any, reason string) {
	if !n.is(value) {
		n.drop(reason)
	}
}

// rest takes what is unread below, for an overlay. Of a list it is all or nothing: what is left of an item has lost its place.
func (n node) rest() any { return n.unread(false) }

// unread takes what is unread below; of lists whose items are read in part, it returns what is left of the items if asked to.
func (n node) unread(lists bool) any {
	if !n.there || n.isRead() {
		return nil
	}
	switch v := n.value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range n.keys() {
			if child := n.at(key); !child.isRead() {
				if value := child.unread(lists); value != nil || child.value == nil {
					out[key] = value
				}
			}
		}
		if len(out) > 0 || len(v) == 0 {
			return n.took(out, len(v) == 0)
		}
		return nil
	case []any:
		if !lists && n.isTouched() {
			return nil
		}
		out := make([]any, 0, len(v))
		for _, item := range n.items() {
			out = append(out, item.unread(true))
		}
		return n.took(out, len(v) == 0)
	default:
		return n.take()
	}
}

// took marks a leaf as read: a value that holds nothing.
func (n node) took(value any, leaf bool) any {
	if leaf {
		n.take()
	}
	return value
}

func (n node) isRead() bool {
	all := true
	leaves(n.path, n.value, func(path string, _ any) { all = all && n.ledger.read[path] })
	return all
}

func (n node) isTouched() bool {
	some := false
	leaves(n.path, n.value, func(path string, _ any) { some = some || n.ledger.read[path] })
	return some
}

// wrongf notes a value that cannot be read, once.
func (n node) wrongf(format string, args ...any) {
	if n.ledger.isWrong[n.path] {
		return
	}
	n.ledger.isWrong[n.path] = true
	n.ledger.wrong = append(n.ledger.wrong, fmt.Errorf("%s: %s: %s", n.ledger.object, n.path, fmt.Sprintf(format, args...)))
}

// longest is how much of a value is printed.
const longest = 100

// String is the path and the value, on one line.
func (d Dropped) String() string {
	if d.Path == "" {
		return "all of it"
	}
	text := fmt.Sprint(d.Value)
	if list, is := d.Value.([]any); is && len(list) == 0 {
		text = "[]"
	}
	if mapping, is := d.Value.(map[string]any); is && len(mapping) == 0 {
		text = "{}"
	}
	text = strings.TrimSpace(text)
	first, _, long := strings.Cut(text, "\n")
	if long || len(first) > longest {
		return fmt.Sprintf("%s: %.*s ... (%d characters)", d.Path, longest, first, len(text))
	}
	return d.Path + ": " + text
}
