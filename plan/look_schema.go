package plan

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// errNoSchema: the server has the kind and does not say what fields it has.
var errNoSchema = errors.New("the server does not tell the fields")

// podGroupFields asks for the fields of a PodGroup's spec, by which releases of KAI differ. Everybody may read them.
func (l *looker) podGroupFields() (map[string]bool, error) {
	paths, err := l.typed.Discovery().OpenAPIV3().Paths()
	if err != nil {
		return nil, err
	}
	path, served := paths["apis/"+podGroupKind.GroupVersion().String()]
	if !served {
		return nil, errNoSchema
	}
	data, err := path.Schema("application/json")
	if err != nil {
		return nil, err
	}
	return fieldsOf(data, podGroupKind.Kind)
}

// fieldsOf finds the fields of a kind's spec in an OpenAPI document.
func fieldsOf(data []byte, kind string) (map[string]bool, error) {
	var document struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
	}
	for _, schema := range document.Components.Schemas {
		if !isOf(schema, kind) {
			continue
		}
		spec, _, err := unstructured.NestedMap(schema, "properties", "spec", "properties")
		if err != nil || len(spec) == 0 {
			return nil, errNoSchema
		}
		fields := map[string]bool{}
		for name := range spec {
			fields[name] = true
		}
		return fields, nil
	}
	return nil, errNoSchema
}

func isOf(schema map[string]any, kind string) bool {
	kinds, isList := schema["x-kubernetes-group-version-kind"].([]any)
	if !isList || len(kinds) != 1 {
		return false
	}
	fields, isMap := kinds[0].(map[string]any)
	return isMap && fields["kind"] == kind
}
