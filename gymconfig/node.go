package gymconfig

import (
	"fmt"
	"math/big"
	"strings"
)

// node is one value of a recipe. Scalars are nil, bool, *[big.Int], float64 or string, as Python has them.
type node struct {
	kind    kind
	entries []entry // of a mapping, in the order of the file
	items   []*node // of a list
	scalar  any
	literal bool // the string is meant as it is, whatever it looks like
	plain   bool // a list or mapping that a resolver was given or made; no path leads into it
	parent  *node
}

type kind int

const (
	scalarKind kind = iota
	mappingKind
	listKind
)

// entry is one key of a mapping. Keys are strings, or scalars that YAML makes of them; no path leads to the latter.
type entry struct {
	key   any
	value *node
}

// missingValue marks a value that somebody else has to provide.
const missingValue = "???"

func newScalar(value any) *node { return &node{kind: scalarKind, scalar: value} }

func newMapping() *node { return &node{kind: mappingKind} }

func (n *node) isContainer() bool { return n != nil && n.kind != scalarKind }

func (n *node) isMissing() bool { return n.kind == scalarKind && n.scalar == missingValue }

// interpolation returns the text of a value that refers to others, or has an escape of such a reference.
func (n *node) interpolation() (text string, is bool) {
	text, is = n.scalar.(string)
	return text, is && n.kind == scalarKind && !n.literal && strings.Contains(text, "${")
}

func sameKey(a, b any) bool {
	x, isInt := a.(*big.Int)
	y, isIntToo := b.(*big.Int)
	if isInt && isIntToo {
		return x.Cmp(y) == 0
	}
	return a == b
}

func (n *node) get(key any) *node {
	for _, one := range n.entries {
		if sameKey(one.key, key) {
			return one.value
		}
	}
	return nil
}

// set puts a value at its key: at the place of the old one, or else last.
func (n *node) set(key any, value *node) {
	value.parent = n
	n.put(key, value)
}

// put is set for a value that belongs elsewhere.
func (n *node) put(key any, value *node) {
	for i, one := range n.entries {
		if sameKey(one.key, key) {
			n.entries[i].value = value
			return
		}
	}
	n.entries = append(n.entries, entry{key, value})
}

func (n *node) remove(key any) {
	for i, one := range n.entries {
		if sameKey(one.key, key) {
			n.entries = append(n.entries[:i:i], n.entries[i+1:]...)
			return
		}
	}
}

func (n *node) add(item *node) {
	item.parent = n
	n.items = append(n.items, item)
}

// clone copies a tree; the copy has no parent.
func (n *node) clone() *node {
	out := &node{kind: n.kind, scalar: n.scalar, literal: n.literal, plain: n.plain}
	for _, one := range n.entries {
		out.set(one.key, one.value.clone())
	}
	for _, item := range n.items {
		out.add(item.clone())
	}
	return out
}

// configured copies a plain tree as a part of the configuration.
func (n *node) configured() *node {
	out := n.clone()
	out.configure()
	return out
}

func (n *node) configure() {
	n.plain, n.literal = false, false
	for _, one := range n.entries {
		one.value.configure()
	}
	for _, item := range n.items {
		item.configure()
	}
}

func (n *node) root() *node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// path is where a node is, in OmegaConf's words: a.b[0].c.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	above := n.parent.path()
	for i, item := range n.parent.items {
		if item == n {
			return itemPath(above, i)
		}
	}
	for _, one := range n.parent.entries {
		if one.value == n {
			return keyPath(above, one.key)
		}
	}
	return above // a value that was made while resolving
}

func keyPath(above string, key any) string {
	if above == "" {
		return pythonString(key)
	}
	return above + "." + pythonString(key)
}

func itemPath(above string, index int) string { return fmt.Sprintf("%s[%d]", above, index) }
