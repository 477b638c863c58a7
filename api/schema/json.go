package schema

import (
	"bytes"
	"encoding/json"
	"path"
	"reflect"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// keywords are the part of JSON Schema (draft 2020-12) that is used here.
type keywords struct {
	Dialect              string               `json:"$schema,omitempty"`
	ID                   string               `json:"$id,omitempty"`
	Ref                  string               `json:"$ref,omitempty"`
	Title                string               `json:"title,omitempty"`
	Description          string               `json:"description,omitempty"`
	Type                 string               `json:"type,omitempty"`
	Const                string               `json:"const,omitempty"`
	Enum                 []string             `json:"enum,omitempty"`
	Pattern              string               `json:"pattern,omitempty"`
	Format               string               `json:"format,omitempty"`
	MinLength            int                  `json:"minLength,omitempty"`
	MinItems             int                  `json:"minItems,omitempty"`
	Default              any                  `json:"default,omitempty"`
	AnyOf                []*keywords          `json:"anyOf,omitempty"`
	Items                *keywords            `json:"items,omitempty"`
	Required             []string             `json:"required,omitempty"`
	Properties           map[string]*keywords `json:"properties,omitempty"`
	AdditionalProperties any                  `json:"additionalProperties,omitempty"` // a bool or a *keywords
	Defs                 map[string]*keywords `json:"$defs,omitempty"`
}

// ID names the schema.
const ID = "https://" + v1alpha1.APIVersion + "/run.schema.json"

// JSON is the schema of a Run file.
func JSON() ([]byte, error) {
	b := &builder{defs: map[string]*keywords{}}
	root := b.object(Root())
	root.Dialect, root.ID, root.Title = "https://json-schema.org/draft/2020-12/schema", ID, "tandem Run"
	root.Description = Root().Description
	root.Defs = b.defs
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(root)
	return out.Bytes(), err
}

// builder collects the definitions of structs, each once.
type builder struct{ defs map[string]*keywords }

// object lists the fields of a struct.
func (b *builder) object(f Field) *keywords {
	s := &keywords{Type: "object", Properties: map[string]*keywords{}, AdditionalProperties: false}
	for _, child := range f.Fields() {
		s.Properties[child.Name] = b.property(child)
		if child.Required {
			s.Required = append(s.Required, child.Name)
		}
	}
	return s
}

// property is a field with what is said of it here and not of its type.
func (b *builder) property(f Field) *keywords {
	s := b.typed(f, f.typ)
	s.Description = f.Description
	if values := f.Values(); len(values) == 1 {
		s.Const = values[0].Value
	}
	if value := f.Default().Value; value != nil {
		s.Default = value
	}
	b.constrain(s, f)
	return s
}

// constrain adds what package v1alpha1 asks of a text, and that what is required is not empty.
func (b *builder) constrain(s *keywords, f Field) {
	pattern, found := v1alpha1.Patterns()[f.goName]
	switch {
	case found:
		s.Pattern = pattern
	case !f.Required || !strings.HasPrefix(f.Path, "run."):
	case s.Type == "array":
		s.MinItems = 1
	case s.Type == "string" && s.Const == "" && len(s.Enum) == 0:
		s.MinLength = 1
	}
}

func (b *builder) typed(f Field, t reflect.Type) *keywords {
	t = indirect(t)
	switch s, is := scalars[t]; {
	case is:
		return s.schema()
	case t == reflect.TypeFor[[]byte]():
		return &keywords{Type: "string"}
	case t.Kind() == reflect.Slice:
		return &keywords{Type: "array", Items: b.typed(f, t.Elem())}
	case t.Kind() == reflect.Map:
		return &keywords{Type: "object", AdditionalProperties: b.typed(f, t.Elem())}
	case t.Kind() == reflect.Struct:
		return b.reference(f, t)
	case t.Kind() == reflect.Bool:
		return &keywords{Type: "boolean"}
	case t.Kind() == reflect.String:
		return text(t)
	}
	return &keywords{Type: "integer"}
}

// text lists the allowed values.
func text(t reflect.Type) *keywords {
	s := &keywords{Type: "string"}
	for _, value := range valuesOf(t) {
		s.Enum = append(s.Enum, value.Value)
	}
	return s
}

// reference defines a struct when it is first met. Fields have one default wherever their struct is used.
func (b *builder) reference(f Field, t reflect.Type) *keywords {
	name := definition(t)
	if b.defs[name] == nil {
		b.defs[name] = &keywords{} // so that a type that holds itself ends
		f.typ = t
		*b.defs[name] = *b.object(f)
		b.defs[name].Description = typeComment(t)
	}
	return &keywords{Ref: "#/$defs/" + name}
}

// definition names a struct: Cluster, or core.v1.EnvVar.
func definition(t reflect.Type) string {
	if isOurs(t) {
		return t.Name()
	}
	version, group := path.Base(t.PkgPath()), path.Base(path.Dir(t.PkgPath()))
	return group + "." + version + "." + t.Name()
}
