package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"sync"
)

//go:embed comments.json
var commentsJSON []byte

// comments is what the source says in comments and constants. Types are called by the last two parts of their package and their name:
// api/v1alpha1.Spec.
type comments struct {
	Types map[string]typeDoc `json:"types"`
	// Values are the constants of a type, in the order of the source.
	Values map[string][]Value `json:"values"`
}

type typeDoc struct {
	Doc string `json:"doc,omitempty"`
	// Fields are by Go name.
	Fields map[string]string `json:"fields,omitempty"`
}

// Value is an allowed value. Description may be empty.
type Value struct {
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
}

var known = sync.OnceValue(func() comments {
	var c comments
	if err := json.Unmarshal(commentsJSON, &c); err != nil {
		panic(fmt.Sprintf("comments.json: %v", err)) // a test reads it
	}
	return c
})

// typeKey is what a type is called in comments.json.
func typeKey(t reflect.Type) string {
	return path.Base(path.Dir(t.PkgPath())) + "/" + path.Base(t.PkgPath()) + "." + t.Name()
}

func typeComment(t reflect.Type) string { return known().Types[typeKey(t)].Doc }

func valuesOf(t reflect.Type) []Value { return known().Values[typeKey(t)] }

// fieldComment is what the source says about a field, else about its type.
func fieldComment(owner reflect.Type, f reflect.StructField, name string) string {
	text := known().Types[typeKey(owner)].Fields[f.Name]
	if documented, is := reflect.Zero(owner).Interface().(interface{ SwaggerDoc() map[string]string }); is && text == "" {
		text = documented.SwaggerDoc()[name]
	}
	if text == "" {
		text = typeComment(item(f.Type))
	}
	return text
}
