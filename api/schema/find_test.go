package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                                "run",
		"run":                             "run",
		"Run.spec":                        "run.spec",
		"spec.clusters":                   "run.spec.clusters",
		".spec.clusters[0].head.gpus":     "run.spec.clusters.head.gpus",
		"run.spec.env.valueFrom.fieldRef": "run.spec.env.valueFrom.fieldRef",
		"spec.volumes.hostPath.path":      "run.spec.volumes.hostPath.path",
	} {
		f, err := Find(path)
		require.NoError(t, err, path)
		require.Equal(t, want, f.Path)
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"spec.cluster":            `run.spec has no field "cluster"; did you mean "clusters"?`,
		"spec.clusters.head.gpu":  `run.spec.clusters.head has no field "gpu"; did you mean "gpus"?`,
		"spec.whatever":           `run.spec has no field "whatever"`,
		"spec.image.tag":          "run.spec.image is of type string and has no fields",
		"spec.podTemplate.spec.a": "run.spec.podTemplate is a part of a pod template",
	} {
		_, err := Find(path)
		require.ErrorContains(t, err, want)
		var unknown *UnknownError
		require.ErrorAs(t, err, &unknown)
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"spec":                         "object",
		"spec.clusters":                "[]object",
		"spec.networkPolicy":           "boolean",
		"spec.clusters.head.gpus":      "integer",
		"spec.clusters.head.resources": "map[string]quantity",
		"spec.clusters.head.command":   "[]string",
		"spec.failure.startupGrace":    "duration",
		"spec.ttlAfterFinished":        "duration",
		"spec.portRanges.ray":          "port range",
		"spec.podTemplate":             "object",
		"spec.backend":                 "string",
	} {
		f, err := Find(path)
		require.NoError(t, err)
		require.Equal(t, want, f.Type(), path)
	}
}

// TestNoTypeIsAMystery: a type that decodes itself is in the table of scalars.
func TestNoTypeIsAMystery(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var visit func(Field)
	visit = func(f Field) {
		of := item(f.typ)
		decodesItself := reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]())
		require.True(t, isScalar(of) || !decodesItself, "%s: %s", f.Path, of)
		if !seen[of.String()] {
			seen[of.String()] = true
			for _, child := range f.Fields() {
				visit(child)
			}
		}
	}
	visit(Root())
}
