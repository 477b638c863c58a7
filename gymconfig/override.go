package gymconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// OverrideError is an override that cannot be applied.
type OverrideError struct {
	Override string
	Err      error
}

func (e *OverrideError) Error() string { return fmt.Sprintf("override %q: %v", e.Override, e.Err) }

func (e *OverrideError) Unwrap() error { return e.Err }

var overrideShape = regexp.MustCompile(`^(\+\+|\+|~|)([^=]*?)(?:=((?s:.*)))?$`)

// overrideKey is a path of keys; a slash or an @ would name one of Hydra's config groups.
var overrideKey = regexp.MustCompile(`^[^\s./@:=+~{}()\[\]'"\\,]+(?:\.[^\s./@:=+~{}()\[\]'"\\,]+)*$`)

// applyOverride changes a recipe as NeMo-RL's command line does: KEY=VALUE changes what is there, +KEY=VALUE adds what is not,
// ++KEY=VALUE does either, ~KEY removes.
func applyOverride(root *node, override string) error {
	parts := overrideShape.FindStringSubmatch(override)
	how, key, source := parts[1], parts[2], parts[3]
	hasValue := strings.Contains(override, "=")
	if !overrideKey.MatchString(key) {
		return errors.New("it begins with a path like env.nemo_gym.a, or with +, ++ or ~ and a path")
	}
	keys := strings.Split(key, ".")
	if how == "~" {
		if hasValue {
			return errors.New("~ takes a path alone")
		}
		return removeAt(root, keys)
	}
	if !hasValue {
		return errors.New("=VALUE is missing")
	}
	value, err := parseOverrideValue(source)
	if err != nil {
		return err
	}
	return setAt(root, keys, value, how)
}

func parseOverrideValue(source string) (*node, error) {
	source = strings.Trim(source, " \t")
	if source == "" {
		return newScalar(""), nil
	}
	p := &parser{source: source}
	parsed, err := p.element()
	if err == nil && p.at < len(p.source) {
		err = p.unexpected("the end of the value")
	}
	if err != nil {
		return nil, err
	}
	return overrideNode(parsed), nil
}

// overrideNode is the value of an override; references in it are resolved later, where they stand.
func overrideNode(e element) *node {
	switch {
	case e.list != nil:
		out := &node{kind: listKind}
		for _, item := range *e.list {
			out.add(overrideNode(item))
		}
		return out
	case e.pairs != nil:
		out := newMapping()
		for _, one := range *e.pairs {
			out.set(one.key, overrideNode(one.value))
		}
		return out
	case e.text == nil && !e.quoted:
		return newScalar(e.value)
	}
	var out strings.Builder
	for i, part := range e.text {
		if literal, is := part.(string); is {
			out.WriteString(escape(literal, i+1 < len(e.text) && isReference(e.text[i+1])))
			continue
		}
		out.WriteString(sourceOf(part))
	}
	return newScalar(out.String())
}

func isReference(part any) bool {
	_, literal := part.(string)
	return !literal
}

// at returns the container on the way to the last key. Where there is none, it is made if that is allowed.
func at(root *node, keys []string, create bool) (*node, error) {
	current := root
	for i, key := range keys[:len(keys)-1] {
		child, err := current.child(key)
		next := child
		if err != nil || !child.isContainer() {
			if !create || current.kind != mappingKind {
				return nil, fmt.Errorf("the recipe has no %s", strings.Join(keys[:i+1], "."))
			}
			next = newMapping()
			current.set(key, next)
		}
		current = next
	}
	return current, nil
}

func setAt(root *node, keys []string, value *node, how string) error {
	container, err := at(root, keys, how != "")
	if err != nil {
		return fmt.Errorf("%w; + adds it", err)
	}
	last := keys[len(keys)-1]
	old, err := container.child(last)
	switch {
	case err != nil && how == "":
		return fmt.Errorf("the recipe has no %s; + adds it", strings.Join(keys, "."))
	case err == nil && how == "+" && !old.isMissing() && old.scalar != nil && !value.isContainer():
		return fmt.Errorf("the recipe has a %s already; ++ replaces it", strings.Join(keys, "."))
	case container.kind == listKind:
		if err != nil {
			return err
		}
		index, _ := strconv.Atoi(last) // child has read it
		value.parent = container
		container.items[index] = value
	case err == nil && old.kind == mappingKind && value.kind == mappingKind:
		return mergeInto(old, value, how, strings.Join(keys, "."))
	default:
		container.set(last, value)
	}
	return nil
}

// mergeInto lays a mapping over the one that is there. Without a plus it brings no new keys.
func mergeInto(old, value *node, how, path string) error {
	if how == "" {
		for _, one := range value.entries {
			if old.get(one.key) == nil {
				return fmt.Errorf("the recipe has no %s; + adds it", keyPath(path, one.key))
			}
		}
	}
	merge(old, value)
	return nil
}

func removeAt(root *node, keys []string) error {
	container, err := at(root, keys, false)
	if err != nil {
		return err
	}
	last := keys[len(keys)-1]
	if old, err := container.child(last); err != nil || old.isMissing() || old.kind == scalarKind && old.scalar == nil {
		return fmt.Errorf("the recipe has no %s, or no value there", strings.Join(keys, "."))
	}
	if container.kind == listKind {
		index, _ := strconv.Atoi(last)
		container.items = append(container.items[:index:index], container.items[index+1:]...)
		return nil
	}
	container.remove(last)
	return nil
}
