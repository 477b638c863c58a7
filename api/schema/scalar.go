package schema

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// scalar is a type whose JSON is not that of its Go fields.
type scalar struct {
	name   string // for people
	schema func() *keywords
}

// Patterns of texts that Go decodes by itself.
const (
	durationPattern = `^[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*)$`
	quantityPattern = `^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$`
	rangePattern    = `^[0-9]+-[0-9]+$`
)

var scalars = map[reflect.Type]scalar{
	reflect.TypeFor[metav1.Duration](): {"duration", func() *keywords { return &keywords{Type: "string", Pattern: durationPattern} }},
	reflect.TypeFor[resource.Quantity](): {"quantity", func() *keywords {
		return &keywords{AnyOf: []*keywords{{Type: "string", Pattern: quantityPattern}, {Type: "number"}}}
	}},
	reflect.TypeFor[intstr.IntOrString]():   {"integer or string", func() *keywords { return &keywords{AnyOf: []*keywords{{Type: "integer"}, {Type: "string"}}} }},
	reflect.TypeFor[metav1.Time]():          {"time", func() *keywords { return &keywords{Type: "string", Format: "date-time"} }},
	reflect.TypeFor[metav1.FieldsV1]():      {"object", openObject},
	reflect.TypeFor[v1alpha1.PodTemplate](): {"object", openObject},
	reflect.TypeFor[v1alpha1.PortRange]():   {"port range", func() *keywords { return &keywords{Type: "string", Pattern: rangePattern} }},
}

func openObject() *keywords { return &keywords{Type: "object", AdditionalProperties: true} }

func isScalar(t reflect.Type) bool {
	_, is := scalars[t]
	return is
}
