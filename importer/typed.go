package importer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// text takes a string; what is not there is empty.
func (n node) text() string {
	value := n.take()
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		n.wrongf("must be a string, not %v", value)
		return ""
	}
}

// number takes a whole number; what is not there is the one given.
func (n node) number(otherwise int32) int32 {
	value := n.take()
	if value == nil {
		return otherwise
	}
	out, ok := wholeNumber(value)
	if !ok {
		n.wrongf("must be a whole number, not %v", value)
		return otherwise
	}
	return out
}

func wholeNumber(value any) (int32, bool) {
	switch v := value.(type) {
	case int:
		return int32(v), v == int(int32(v))
	case float64:
		return int32(v), v == float64(int32(v))
	default:
		return 0, false
	}
}

// truth takes true or false; what is not there is false.
func (n node) truth() bool {
	value := n.take()
	out, is := value.(bool)
	if !is && value != nil {
		n.wrongf("must be true or false, not %v", value)
	}
	return out
}

// words takes a list of strings.
func (n node) words() []string {
	var out []string
	for _, item := range n.items() {
		out = append(out, item.text())
	}
	n.take() // an empty list too
	return out
}

// texts takes a mapping of strings.
func (n node) texts() map[string]string {
	out := map[string]string{}
	for _, key := range n.keys() {
		out[key] = n.at(key).text()
	}
	return out
}

// noSuchField is the reason for what Kubernetes itself does not know.
const noSuchField = "Kubernetes has no such field"

// into takes the value as a Kubernetes type. Fields that the type does not have are dropped, as the API server would.
func (n node) into(target any) {
	if !n.there {
		return
	}
	n.dropUnknown(reflect.TypeOf(target).Elem())
	data, err := json.Marshal(n.unread(true))
	if err == nil {
		err = json.Unmarshal(data, target)
	}
	if err != nil {
		n.wrongf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
}

// dropUnknown drops the fields below that the type does not have.
func (n node) dropUnknown(t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case hasOwnNotation(t):
	case t.Kind() == reflect.Struct:
		known := jsonFields(t)
		for _, key := range n.keys() {
			if fieldType, ok := known[key]; ok {
				n.at(key).dropUnknown(fieldType)
			} else {
				n.at(key).drop(noSuchField)
			}
		}
	case t.Kind() == reflect.Map:
		for _, key := range n.keys() {
			n.at(key).dropUnknown(t.Elem())
		}
	case t.Kind() == reflect.Slice:
		for _, item := range n.items() {
			item.dropUnknown(t.Elem())
		}
	}
}

// hasOwnNotation: the type is written otherwise than its fields are.
func hasOwnNotation(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Duration](), reflect.TypeFor[metav1.Time](),
		reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[metav1.FieldsV1]():
		return true
	}
	return false
}

// fieldsOf keeps what jsonFields has found.
var fieldsOf sync.Map

// jsonFields are the fields of a struct by JSON name, those of inlined structs included.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	if known, is := fieldsOf.Load(t); is {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	defer fieldsOf.Store(t, fields)
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

// resources takes requests or limits, without GPUs, which are returned apart.
func (n node) resources() (list corev1.ResourceList, gpus int32) {
	for _, key := range n.keys() {
		quantity, err := resource.ParseQuantity(fmt.Sprint(n.at(key).take()))
		if err != nil {
			n.at(key).wrongf("%v is no quantity: %v", n.at(key).value, err)
			continue
		}
		if key == resourceGPU {
			gpus = int32(quantity.Value())
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[corev1.ResourceName(key)] = quantity
	}
	return list, gpus
}
