package schema

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// UnknownError is a path that leads nowhere.
type UnknownError struct {
	// Parent is the last field on the way that exists, and Name what it does not have.
	Parent Field
	Name   string
	// Near is a field of the parent that may be meant; may be empty.
	Near string
}

func (e *UnknownError) Error() string {
	switch {
	case e.Parent.Open():
		return fmt.Sprintf("%s is a part of a pod template, whose fields are Kubernetes'", e.Parent.Path)
	case len(e.Parent.Fields()) == 0:
		return fmt.Sprintf("%s is of type %s and has no fields", e.Parent.Path, e.Parent.Type())
	case e.Near != "":
		return fmt.Sprintf("%s has no field %q; did you mean %q?", e.Parent.Path, e.Name, e.Near)
	}
	return fmt.Sprintf("%s has no field %q", e.Parent.Path, e.Name)
}

// index is the place in a list, which does not matter here.
var index = regexp.MustCompile(`\[[^\]]*\]`)

// Find returns the field at a path such as run.spec.clusters.head. The run at its beginning may be left out. The error is an *UnknownError.
func Find(path string) (Field, error) {
	at := Root()
	parts := strings.Split(strings.Trim(index.ReplaceAllString(path, ""), "."), ".")
	if strings.EqualFold(parts[0], at.Name) {
		parts = parts[1:]
	}
	for _, name := range parts {
		if name == "" {
			continue
		}
		next, found := at.child(name)
		if !found {
			return Field{}, &UnknownError{Parent: at, Name: name, Near: at.nearest(name)}
		}
		at = next
	}
	return at, nil
}

func (f Field) child(name string) (_ Field, found bool) {
	for _, child := range f.Fields() {
		if child.Name == name {
			return child, true
		}
	}
	return Field{}, false
}

func (f Field) nearest(name string) string {
	var names []string
	for _, child := range f.Fields() {
		names = append(names, child.Name)
	}
	return v1alpha1.Nearest(name, names)
}
