package schema

import (
	"reflect"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Field is one field of a Run file.
type Field struct {
	// Name is the field's, as in the file; Path begins with run. Items of lists and maps have no part of their own in it.
	Name, Path string
	// Required: a file without it is refused.
	Required bool
	// Description may be empty.
	Description string

	typ    reflect.Type
	goName string // Spec.Image; empty for the root
}

// Root is the Run itself.
func Root() Field {
	t := reflect.TypeFor[v1alpha1.Run]()
	return Field{Name: "run", Path: "run", Description: typeComment(t), typ: t}
}

// Fields are those below, in the order of the source: of the object itself, or of the items of a list or map.
func (f Field) Fields() []Field {
	t := item(f.typ)
	if t.Kind() != reflect.Struct || isScalar(t) {
		return nil
	}
	fields := fieldsOf(t)
	for i := range fields {
		fields[i].Path = f.Path + "." + fields[i].Name
	}
	return fields
}

// Open tells that the field holds objects whose fields are not listed here.
func (f Field) Open() bool {
	s, is := scalars[item(f.typ)]
	return is && s.name == "object"
}

// Own tells that the fields below are the Run file's own and not Kubernetes'.
func (f Field) Own() bool { return isOurs(item(f.typ)) }

// Type is the type's name for people.
func (f Field) Type() string { return typeName(f.typ) }

func typeName(t reflect.Type) string {
	t = indirect(t)
	switch s, is := scalars[t]; {
	case is:
		return s.name
	case t == reflect.TypeFor[[]byte]():
		return "string"
	case t.Kind() == reflect.Slice:
		return "[]" + typeName(t.Elem())
	case t.Kind() == reflect.Map:
		return "map[string]" + typeName(t.Elem())
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.String:
		return "string"
	}
	return "integer"
}

// Values are the allowed ones; none if there is no list of them.
func (f Field) Values() []Value {
	switch f.goName {
	case "Run.APIVersion":
		return []Value{{Value: v1alpha1.APIVersion}}
	case "Run.Kind":
		return []Value{{Value: v1alpha1.Kind}}
	}
	return valuesOf(item(f.typ))
}

// fieldsOf are the fields of a struct with those of inlined structs in their place. Their paths are missing.
func fieldsOf(t reflect.Type) []Field {
	var fields []Field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			fields = append(fields, fieldsOf(f.Type)...)
		default:
			optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") || f.Type.Kind() == reflect.Pointer
			fields = append(fields, Field{
				Name: name, Required: !optional, Description: fieldComment(t, f, name), typ: f.Type, goName: t.Name() + "." + f.Name,
			})
		}
	}
	return fields
}

// item is what pointers, lists and maps lead to.
func item(t reflect.Type) reflect.Type {
	for !isScalar(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	return t
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// isOurs: the type is of the Run file and not of Kubernetes.
func isOurs(t reflect.Type) bool { return t.PkgPath() == reflect.TypeFor[v1alpha1.Run]().PkgPath() }
