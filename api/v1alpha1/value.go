package v1alpha1

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wrongValue says what is wrong with a value of a type that has its own notation.
func wrongValue(node *yaml.Node, t reflect.Type) (message string, known bool) {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return wrongQuantity(node), true
	case reflect.TypeFor[metav1.Duration]():
		return wrongDuration(node), true
	}
	return "", false
}

func wrongDuration(node *yaml.Node) string {
	if node.Tag == "!!int" || node.Tag == "!!float" {
		return fmt.Sprintf("must be a duration, not %s: write %ss or %sm", describe(node), node.Value, node.Value)
	}
	return fmt.Sprintf("must be a duration such as 90s, 20m or 1h, not %s", describe(node))
}

var byteUnit = regexp.MustCompile(`^([0-9.]+)\s*([KMGTPEkmgtpe])(i?)[Bb]?$`)

// wrongQuantity knows how people write bytes.
func wrongQuantity(node *yaml.Node) string {
	if part := byteUnit.FindStringSubmatch(node.Value); part != nil {
		unit := strings.ToUpper(part[2]) + part[3]
		if unit == "K" {
			unit = "k" // the only one in lower case
		}
		if _, err := resource.ParseQuantity(part[1] + unit); err == nil {
			return fmt.Sprintf("%s: write %s", node.Value, part[1]+unit)
		}
	}
	return fmt.Sprintf("must be a quantity such as 500m, 2 or 64Mi, not %s", describe(node))
}
