package kai_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
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

func TestSubGroupsThatAreNoTreeAreDescribedAllTheSame(t *testing.T) {
	t.Parallel()
	one := ptr.To[int32](1)
	for name, groups := range map[string][]kai.SubGroupSpec{
		"no name":        {{Name: "", MinMember: one}},
		"its own parent": {{Name: "a", Parent: "a", MinMember: one}},
		"a circle":       {{Name: "a", Parent: "b"}, {Name: "b", Parent: "a"}},
		"two of one name, one of them in a circle": {{Name: "a", Parent: "b"}, {Name: "b", Parent: "a"}, {Name: "a", MinMember: one}},
	} {
		group := podGroup(t, "0.17.0", run7())
		group.Spec.SubGroups, group.Spec.MinSubGroup = groups, ptr.To[int32](-1)
		objects := read(t, group, rayCluster("rl", workers(func(w *rayv1.WorkerGroupSpec) { w.GroupName = "" })))
		gangs := kai.Gangs(parse(t, "0.17.0"), objects)
		require.Len(t, gangs, 2, name)
		require.Contains(t, gangs[0].String(), "PodGroup tandem-", name)
		require.NotEmpty(t, gangs[1].Broken, name)
		require.NotEmpty(t, kai.Refused(kai.Check(parse(t, "0.17.0"), kai.GangPerCluster, objects)), name)
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
