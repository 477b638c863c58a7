package kai_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/manifests/kai"
)

func TestGangsOfEachVersionAreInItsGoldenFile(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.12.11", "0.12.23", "0.14.0", "0.14.7", "0.15.3", "0.16.8", "0.17.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			var out []string
			for _, gang := range kai.Gangs(parse(t, version), read(t, documents(t, "gangs.yaml")...)) {
				out = append(out, gang.String())
			}
			golden.Assert(t, strings.Join(out, "\n\n")+"\n", "gangs-"+version+".golden")
		})
	}
}

// documents reads a stream of YAML documents.
func documents(t *testing.T, file string) []any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	var out []any
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.UnmarshalStrict(document, &object.Object))
		out = append(out, object)
	}
	return out
}

func parse(t *testing.T, version string) kai.Version {
	t.Helper()
	v, err := kai.Parse(version)
	require.NoError(t, err)
	return v
}

func read(t *testing.T, objects ...any) *kai.Objects {
	t.Helper()
	out, err := kai.Read(objects...)
	require.NoError(t, err)
	return out
}
