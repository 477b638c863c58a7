package gymconfig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Why a value cannot be resolved. A key that is not there may still be one that Gym knows.
var (
	errNoKey        = errors.New("no such key in the recipe")
	errMissing      = errors.New("its value is ???, which somebody else has to provide")
	errNotContainer = errors.New("it leads through a value that is no container")
)

// elsewhere is what is wrong with a value that a reference leads to. It is not that there is none: it wraps nothing.
type elsewhere struct{ cause error }

func (e elsewhere) Error() string { return e.cause.Error() }

// onlyGym is a value that Gym resolves: the text of an interpolation, or a string with some in it.
type onlyGym struct{ text string }

// resolver resolves the references of one recipe.
type resolver struct {
	root    *node
	section *node                            // what becomes Gym's root, or nil
	known   []string                         // keys that Gym gets from elsewhere
	env     func(name string) (string, bool) // nil: Gym asks its own environment
	busy    []*node                          // what is being resolved, to find cycles
	steps   int
}

// maxSteps bounds how often values are looked at: references to references can multiply.
const maxSteps = 250_000

var errEndless = fmt.Errorf("its references lead to more than %d values", maxSteps)

// value resolves a value: a scalar, a container as it stands in the recipe, or [onlyGym].
func (r *resolver) value(n *node) (any, error) {
	if r.steps++; r.steps > maxSteps {
		return nil, errEndless
	}
	if n.isContainer() {
		return n, nil
	}
	if n.isMissing() {
		return nil, errMissing
	}
	source, is := n.interpolation()
	if !is {
		return n.scalar, nil
	}
	if i := slices.Index(r.busy, n); i >= 0 {
		return nil, cycle(append(slices.Clone(r.busy[i:]), n))
	}
	if len(r.busy) >= maxDepth {
		return nil, fmt.Errorf("a chain of more than %d references", maxDepth)
	}
	parsed, err := parseText(source)
	if err != nil {
		return nil, err
	}
	r.busy = append(r.busy, n)
	defer func() { r.busy = r.busy[:len(r.busy)-1] }()
	return r.text(n.parent, parsed)
}

func cycle(nodes []*node) error {
	var paths []string
	for _, n := range nodes {
		paths = append(paths, n.path())
	}
	return fmt.Errorf("the references run in a circle: %s", strings.Join(paths, " -> "))
}

// text joins literal strings and references. A single reference keeps its type.
func (r *resolver) text(at *node, parts text) (any, error) {
	if len(parts) == 1 {
		if literal, is := parts[0].(string); is {
			return literal, nil
		}
		return r.reference(at, parts[0])
	}
	var joined composed
	for _, part := range parts {
		value := part
		if _, literal := part.(string); !literal {
			var err error
			if value, err = r.reference(at, part); err != nil {
				return nil, err
			}
		}
		joined.add(value)
	}
	return joined.value(), nil
}

func (r *resolver) reference(at *node, part any) (any, error) {
	var value any
	var err error
	switch p := part.(type) {
	case *ref:
		value, err = r.follow(at, p)
		if err != nil {
			err = fmt.Errorf("%s: %w", p.source, err)
		}
	case *call:
		value, err = r.call(at, p)
		if err != nil {
			err = fmt.Errorf("%s: %w", p.source, err)
		}
	}
	return value, err
}

// follow resolves a reference to another value of the recipe, or to one that Gym knows.
func (r *resolver) follow(at *node, reference *ref) (any, error) {
	path, err := r.path(at, reference.pieces)
	if err != nil {
		return nil, err
	}
	start, keys, err := r.start(at, path)
	if err != nil {
		return nil, err
	}
	value, err := r.find(start, keys)
	if errors.Is(err, errNoKey) || errors.Is(err, errMissing) {
		if other, is := r.gyms(start, keys); is {
			return other, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if target, is := value.(*node); is {
		for above := at; above != nil; above = above.parent {
			if above == target {
				return nil, errors.New("it refers to what it is a part of")
			}
		}
	}
	return value, nil
}

// path is the text of a reference with the references in it resolved.
func (r *resolver) path(at *node, pieces text) (string, error) {
	var out strings.Builder
	for _, piece := range pieces {
		if _, literal := piece.(string); !literal {
			value, err := r.reference(at, piece)
			if err != nil {
				return "", err
			}
			name, is := value.(string)
			if !is {
				return "", fmt.Errorf("a key must be a string, and %s is %s", sourceOf(piece), describe(value))
			}
			piece = name
		}
		out.WriteString(piece.(string))
	}
	return out.String(), nil
}

func sourceOf(part any) string {
	switch p := part.(type) {
	case *ref:
		return p.source
	case *call:
		return p.source
	default:
		return pythonString(part)
	}
}

// describe names a value that does not fit.
func describe(value any) string {
	if other, is := value.(onlyGym); is {
		return "known to Gym alone (" + other.text + ")"
	}
	return typeName(value)
}

// start is where a path begins: one dot is the container of the value, each further dot is one level up.
func (r *resolver) start(at *node, path string) (*node, []string, error) {
	if !strings.HasPrefix(path, ".") {
		return at.root(), splitPath(path), nil
	}
	for path = path[1:]; strings.HasPrefix(path, "."); path = path[1:] {
		if at = at.parent; at == nil {
			return nil, nil, errors.New("it has more dots than there are levels")
		}
	}
	return at, splitPath(path), nil
}

var (
	pathHead = regexp.MustCompile(`^\.*[^.\[]*`)
	pathTail = regexp.MustCompile(`\.([^.\[]*)|\[(.*?)\]`)
)

// splitPath takes a.b[0] apart.
func splitPath(path string) []string {
	head := pathHead.FindString(path)
	keys, rest := strings.Split(head, "."), path[len(head):]
	if strings.HasPrefix(rest, "[") && keys[len(keys)-1] == "" {
		keys = keys[:len(keys)-1]
	}
	for _, match := range pathTail.FindAllStringSubmatch(rest, -1) {
		keys = append(keys, match[1]+match[2])
	}
	return keys
}

// find follows keys down from a container. What lies on the way is resolved.
func (r *resolver) find(from *node, keys []string) (any, error) {
	for i, key := range keys {
		child, err := from.child(key)
		if err != nil {
			return nil, err
		}
		value, err := r.value(child)
		if _, refers := child.interpolation(); refers && err != nil {
			return nil, elsewhere{err}
		}
		if err != nil {
			return nil, err
		}
		if i == len(keys)-1 {
			return value, nil
		}
		next, is := value.(*node)
		if !is || next.plain {
			return nil, fmt.Errorf("%w: %s is %s", errNotContainer, strings.Join(keys[:i+1], "."), describe(value))
		}
		from = next
	}
	return from, nil
}

// child is the value at a key of a mapping or an index of a list.
func (n *node) child(key string) (*node, error) {
	if n.kind == mappingKind {
		if child := n.get(key); child != nil {
			return child, nil
		}
		return nil, errNoKey
	}
	index, err := strconv.Atoi(key)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is no index of a list", key)
	case index < 0 || index >= len(n.items):
		return nil, fmt.Errorf("%w: the list has %d items", errNoKey, len(n.items))
	}
	return n.items[index], nil
}

// gyms resolves what the recipe does not have as Gym will: its root is the section, and it gets some keys from elsewhere.
func (r *resolver) gyms(start *node, keys []string) (any, bool) {
	if r.section == nil {
		return nil, false
	}
	if start == r.root {
		if value, err := r.find(r.section, keys); err == nil {
			return value, true
		}
		above := splitPath(r.section.path())
		if len(keys) > len(above) && slices.Equal(keys[:len(above)], above) {
			start, keys = r.section, keys[len(above):]
		}
	}
	if start != r.root && start != r.section || !slices.Contains(r.known, keys[0]) {
		return nil, false
	}
	return onlyGym{"${" + strings.Join(keys, ".") + "}"}, true
}
