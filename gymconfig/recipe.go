package gymconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// FileError is a recipe file that cannot be used.
type FileError struct {
	File string
	Err  error
}

func (e *FileError) Error() string { return e.File + ": " + e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

// readFile is os.ReadFile; the caller names the file in errors.
func readFile(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, path.Err
	}
	return data, err
}

// loader reads a recipe and the files that it builds on.
type loader struct {
	open  []string // the chain of files that led here
	files []string // all that were read
}

// recipe reads a file and lays it over what its defaults name, in their order. Paths are relative to the file.
func (l *loader) recipe(file string) (*node, error) {
	file = filepath.Clean(file)
	if slices.Contains(l.open, file) {
		return nil, &FileError{file, fmt.Errorf("its defaults lead back to it: %s", strings.Join(append(l.open, file), " -> "))}
	}
	l.open = append(l.open, file)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	if !slices.Contains(l.files, file) {
		l.files = append(l.files, file)
	}
	data, err := readFile(file)
	if err != nil {
		return nil, &FileError{file, err}
	}
	own, err := parseYAML(data)
	if err == nil && own.kind != mappingKind {
		err = errors.New("a recipe is a mapping")
	}
	if err != nil {
		return nil, &FileError{file, err}
	}
	return l.inherit(file, own)
}

func (l *loader) inherit(file string, own *node) (*node, error) {
	parents, err := defaultsOf(own)
	if err != nil {
		return nil, &FileError{file, err}
	}
	if parents == nil {
		return own, nil
	}
	base := newMapping()
	for _, parent := range parents {
		if !filepath.IsAbs(parent) {
			parent = filepath.Join(filepath.Dir(file), parent)
		}
		tree, err := l.recipe(parent)
		if err != nil {
			return nil, &FileError{file, fmt.Errorf("defaults: %w", err)}
		}
		overlay(base, tree)
	}
	overlay(base, own)
	return base, nil
}

// defaultsOf takes `defaults` out of a file: a path or a list of them.
func defaultsOf(own *node) ([]string, error) {
	defaults := own.get("defaults")
	if defaults == nil {
		return nil, nil
	}
	own.remove("defaults")
	items := defaults.items
	if defaults.kind == scalarKind {
		items = []*node{defaults}
	}
	paths := []string{}
	for _, item := range items {
		path, is := item.scalar.(string)
		if !is || path == "" {
			return nil, fmt.Errorf("defaults: %s is no path of a file", pythonRepr(item))
		}
		if _, refers := item.interpolation(); refers {
			return nil, fmt.Errorf("defaults: %s cannot refer to other values", path)
		}
		paths = append(paths, path)
	}
	if defaults.kind == mappingKind {
		return nil, errors.New("defaults: a path or a list of paths is meant, not a mapping")
	}
	return paths, nil
}

// overlay lays a file over another. A section at the top with `_override_: true` replaces the one below it.
func overlay(base, over *node) {
	for _, one := range over.entries {
		if one.value.kind != mappingKind {
			continue
		}
		if mark := one.value.get("_override_"); mark != nil && mark.scalar != nil && mark.scalar != false {
			one.value.remove("_override_")
			base.remove(one.key)
		}
	}
	merge(base, over)
}

// merge lays one mapping over another as OmegaConf does: mappings are merged, all else replaces what was there. ??? replaces
// nothing. What refers to a container is replaced by a copy of it first.
func merge(base, over *node) {
	for _, one := range over.entries {
		old := base.get(one.key)
		if old == nil {
			base.set(one.key, one.value.clone())
			continue
		}
		if target := referredContainer(old); target != nil {
			old = target.clone()
			base.set(one.key, old)
		}
		switch {
		case one.value.isMissing():
		case old.kind == mappingKind && one.value.kind == mappingKind:
			merge(old, one.value)
		default:
			base.set(one.key, one.value.clone())
		}
	}
}

func referredContainer(n *node) *node {
	if _, refers := n.interpolation(); !refers {
		return nil
	}
	r := &resolver{root: n.root(), env: os.LookupEnv}
	value, err := r.value(n)
	if err != nil {
		return nil
	}
	target, _ := value.(*node)
	return target
}
