package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Default is what a field that is left out becomes. The zero value says that there is none.
type Default struct {
	// Value as in the file.
	Value any
	// DependsOn are the paths of fields that the default depends on. Value is then empty.
	DependsOn []string
}

// Default of the field, as SetDefaults has it.
func (f Field) Default() Default { return defaults()[f.Path] }

// setting gives a field one of its allowed values.
type setting struct{ path, value string }

// defaults are by path. SetDefaults is asked what it does to a Run that holds one of everything and says nothing, and then with each
// choice, and each two choices, made in turn: where the answers differ the default depends on the choice.
var defaults = sync.OnceValue(func() map[string]Default {
	choices := choices(Root())
	base := defaulted()
	found := map[string]Default{}
	for path, value := range base {
		found[path] = Default{Value: value}
	}
	for _, first := range choices {
		alone := defaulted(first)
		depend(found, base, alone, first.path)
		for _, second := range choices {
			if second.path != first.path {
				depend(found, alone, defaulted(first, second), second.path, first.path)
			}
		}
	}
	return found
})

// depend notes the paths at which two answers differ, other than those that were set.
func depend(found map[string]Default, before, after map[string]any, cause string, set ...string) {
	for path := range union(before, after) {
		if path == cause || slices.Contains(set, path) || reflect.DeepEqual(before[path], after[path]) {
			continue
		}
		on := found[path].DependsOn
		if !slices.Contains(on, cause) {
			on = append(slices.Clone(on), cause)
			slices.Sort(on)
		}
		found[path] = Default{DependsOn: on}
	}
}

func union(a, b map[string]any) map[string]bool {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}

// choices are all settings of our own fields that have a list of allowed values.
func choices(f Field) []setting {
	var list []setting
	for _, child := range f.Fields() {
		if t := item(child.typ); isOurs(t) && t.Kind() == reflect.String {
			for _, value := range child.Values() {
				list = append(list, setting{child.Path, value.Value})
			}
		} else if isOurs(t) {
			list = append(list, choices(child)...)
		}
	}
	return list
}

// defaulted is what SetDefaults fills in, by path, when the settings are made.
func defaulted(settings ...setting) map[string]any {
	run := &v1alpha1.Run{}
	one(reflect.ValueOf(run).Elem(), "run", settings)
	run.SetDefaults()
	filled := map[string]any{}
	leaves(reflect.ValueOf(run).Elem(), "run", filled)
	return filled
}

// one puts one item into every list of ours and one object behind every pointer to one.
func one(v reflect.Value, path string, settings []setting) {
	switch {
	case v.Kind() == reflect.Pointer && isOurs(v.Type().Elem()) && v.Type().Elem().Kind() == reflect.Struct:
		v.Set(reflect.New(v.Type().Elem()))
		one(v.Elem(), path, settings)
	case v.Kind() == reflect.Slice && isOurs(v.Type().Elem()):
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		one(v.Index(0), path, settings)
	case v.Kind() == reflect.Struct && isOurs(v.Type()) && !isScalar(v.Type()):
		each(v, path, func(child reflect.Value, path string) { one(child, path, settings) })
	case v.Kind() == reflect.String:
		for _, s := range settings {
			if s.path == path {
				v.SetString(s.value)
			}
		}
	}
}

// leaves collects the values of our structs that are not zero.
func leaves(v reflect.Value, path string, into map[string]any) {
	switch {
	case v.IsZero() || path == "run.apiVersion" || path == "run.kind":
	case v.Kind() == reflect.Pointer:
		leaves(v.Elem(), path, into)
	case v.Kind() == reflect.Slice && isOurs(v.Type().Elem()):
		leaves(v.Index(0), path, into)
	case v.Kind() == reflect.Struct && isOurs(v.Type()) && !isScalar(v.Type()):
		each(v, path, func(child reflect.Value, path string) { leaves(child, path, into) })
	default:
		into[path] = inFile(v)
	}
}

// each calls on for every field of a struct, and of structs inlined in it.
func each(v reflect.Value, path string, on func(child reflect.Value, path string)) {
	for i, f := range indexed(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			each(v.Field(i), path, on)
		default:
			on(v.Field(i), path+"."+name)
		}
	}
}

func indexed(t reflect.Type) []reflect.StructField { return slices.Collect(t.Fields()) }

// inFile is a value as a person writes it.
func inFile(v reflect.Value) any {
	if d, is := v.Interface().(metav1.Duration); is {
		return short(d.Duration)
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err) // only our own fields come here
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		panic(err)
	}
	return value
}

// short is a duration without its zeros: 20m and not 20m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
