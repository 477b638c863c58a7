package v1alpha1

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// walker compares a YAML tree with a Go type by its JSON tags, and remembers the line of every field.
// The typed decoder that follows cannot do this: it knows no lines and stops at the first problem.
type walker struct {
	lines    lines
	problems []Problem
	// wrong are values that cannot be decoded, and doubled the keys of fields that are given twice.
	wrong, doubled map[*yaml.Node]bool
	// meant are the fields that misspelt ones were meant to be.
	meant   []string
	merging map[*yaml.Node]bool // guards against a mapping that merges itself
	patch   bool                // within a PodTemplate, where directives are allowed beside the fields
}

func walk(root *yaml.Node, t reflect.Type) *walker {
	w := &walker{
		lines: lines{"": root.Line}, merging: map[*yaml.Node]bool{},
		wrong: map[*yaml.Node]bool{}, doubled: map[*yaml.Node]bool{},
	}
	w.value(nil, root, t)
	return w
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value checks one node against the type it must become.
func (w *walker) value(path *field.Path, node *yaml.Node, t reflect.Type) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case node.Tag == "!!null":
	case t == reflect.TypeFor[PodTemplate]():
		w.podTemplate(path, node)
	case reflect.PointerTo(t).Implements(unmarshaler):
		w.leaf(path, node, t)
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		w.mapping(path, node, t)
	case t.Kind() == reflect.Slice:
		w.sequence(path, node, t)
	default:
		w.leaf(path, node, t)
	}
}

// podTemplate checks a patch as if it were a whole pod template.
func (w *walker) podTemplate(path *field.Path, node *yaml.Node) {
	outer := w.patch
	w.patch = true
	w.value(path, node, reflect.TypeFor[corev1.PodTemplateSpec]())
	w.patch = outer
}

// directives of strategic merge, as `kubectl patch` knows them.
var directives = []string{"$patch", "$retainKeys", "$deleteFromPrimitiveList/", "$setElementOrder/"}

func (w *walker) isDirective(key string) bool {
	return w.patch && slices.ContainsFunc(directives, func(d string) bool { return strings.HasPrefix(key, d) })
}

// mapping checks the keys of a struct or map.
func (w *walker) mapping(path *field.Path, node *yaml.Node, t reflect.Type) {
	if node.Kind != yaml.MappingNode {
		w.reportWrong(node, path, "must be a mapping of field: value, not %s", describe(node))
		return
	}
	first := map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Tag == "!!merge" {
			w.merge(path, node, value, t)
			continue
		}
		child := childPath(path, key.Value, t)
		if line, twice := first[key.Value]; twice {
			w.report(key.Line, child, "given twice; the first is on line %d: remove one", line)
			w.doubled[key] = true
			continue
		}
		first[key.Value] = key.Line
		w.lines[child.String()] = key.Line
		w.member(child, key, value, t)
	}
}

// merge checks what a mapping takes over from others by `<<`: one mapping, or a list of them.
func (w *walker) merge(path *field.Path, into, from *yaml.Node, t reflect.Type) {
	if w.merging[into] {
		w.report(from.Line, path, "the mapping merges itself")
		return
	}
	w.merging[into] = true
	defer delete(w.merging, into)
	sources := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		sources = from.Content
	}
	for _, source := range sources {
		w.value(path, source, t)
	}
}

func (w *walker) member(path *field.Path, key, value *yaml.Node, t reflect.Type) {
	if w.isDirective(key.Value) {
		return
	}
	if t.Kind() == reflect.Map {
		w.value(path, value, t.Elem())
		return
	}
	known := jsonFields(t)
	if fieldType, ok := known[key.Value]; ok {
		w.value(path, value, fieldType)
		return
	}
	if near := nearest(key.Value, known); near != "" {
		w.report(key.Line, path, "unknown field; did you mean %q?", near)
		w.meant = append(w.meant, strings.TrimSuffix(path.String(), key.Value)+near)
		return
	}
	w.report(key.Line, path, "unknown field; known here: %s", strings.Join(sortedKeys(known), ", "))
}

func (w *walker) sequence(path *field.Path, node *yaml.Node, t reflect.Type) {
	if node.Kind != yaml.SequenceNode {
		w.reportWrong(node, path, "must be a list, not %s", describe(node))
		return
	}
	for i, item := range node.Content {
		child := path.Index(i)
		w.lines[child.String()] = item.Line
		w.value(child, item, t.Elem())
	}
}

// leaf decodes a value the way the typed decoder will, to report its complaint with a line.
func (w *walker) leaf(path *field.Path, node *yaml.Node, t reflect.Type) {
	var value any
	if err := node.Decode(&value); err != nil {
		w.reportWrong(node, path, "%v", err)
		return
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	if err == nil {
		return
	}
	message, known := wrongValue(node, t)
	switch {
	case known:
		w.reportWrong(node, path, "%s", message)
	case t.Kind() == reflect.String && node.Kind == yaml.ScalarNode:
		w.reportWrong(node, path, "must be a string, not %s: write %q", describe(node), node.Value)
	case t.Kind() == reflect.Struct, node.Kind == yaml.ScalarNode && t.Kind() == reflect.Interface:
		w.reportWrong(node, path, "invalid value %q: %v", node.Value, err)
	default:
		w.reportWrong(node, path, "must be %s, not %s", goName(t), describe(node))
	}
}

// reportWrong reports a value that cannot be decoded.
func (w *walker) reportWrong(node *yaml.Node, path *field.Path, format string, args ...any) {
	w.wrong[node] = true
	w.report(node.Line, path, format, args...)
}

func (w *walker) report(line int, path *field.Path, format string, args ...any) {
	problem := Problem{Line: line, Message: fmt.Sprintf(format, args...)}
	if path != nil {
		problem.Field = path.String()
	}
	w.problems = append(w.problems, problem)
}

func childPath(path *field.Path, key string, t reflect.Type) *field.Path {
	switch {
	case t.Kind() == reflect.Map:
		return path.Key(key)
	case path == nil:
		return field.NewPath(key)
	default:
		return path.Child(key)
	}
}

// jsonFields are the fields of a struct by JSON name, those of inlined structs included.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			for inlined, inlinedType := range jsonFields(f.Type) {
				fields[inlined] = inlinedType
			}
		default:
			fields[name] = f.Type
		}
	}
	return fields
}

// describe names a node for a person.
func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Tag == "!!int" || node.Tag == "!!float":
		return "the number " + node.Value
	case node.Tag == "!!bool":
		return "the boolean " + node.Value
	default:
		return fmt.Sprintf("the text %q", node.Value)
	}
}

func goName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default:
		return "a whole number"
	}
}
