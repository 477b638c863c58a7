package kai_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// crdDir has KAI's CRDs, a folder for each version. KAI's module cannot be had from a module proxy, so they lie beside the repository.
var crdDir = filepath.Join("..", "..", "..", "shared", "kai-crds")

// server starts a real API server with the CRDs of a version.
func server(t *testing.T, version string) client.Client {
	t.Helper()
	dir := filepath.Join(crdDir, "v"+version)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("skipped: %v; the CRDs of KAI %s are needed there to try objects on a real API server", err, version)
	}
	env := testenv.Environment(t)
	env.CRDDirectoryPaths = []string{dir}
	cfg, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	c, err := client.New(cfg, client.Options{})
	require.NoError(t, err)
	require.NoError(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	return c
}

// create sends an object as it is printed; a field that the schema does not know is an error.
func create(t *testing.T, c client.Client, object any) error {
	t.Helper()
	u := toUnstructured(t, object)
	return client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(t.Context(), u, client.DryRunAll)
}

func toUnstructured(t *testing.T, object any) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(object)
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, utiljson.Unmarshal(data, &u.Object))
	return u
}

func TestARealAPIServerOf017TakesWhatIsBuiltAndRefusesWhatCheckRefuses(t *testing.T) {
	c := server(t, "0.17.0")
	t.Run("what is built", func(t *testing.T) { takesBuiltFor017(t, c) })
	t.Run("bad PodGroups", func(t *testing.T) { refusesPodGroups(t, c) })
	t.Run("bad Topologies", func(t *testing.T) { refusesTopologies(t, c) })
}

func TestARealAPIServerOf014TakesWhatIsBuiltAndRefusesFieldsThatCameLater(t *testing.T) {
	c := server(t, "0.14.7")
	t.Run("what is built", func(t *testing.T) { takesBuiltFor014(t, c) })
	t.Run("what came later", func(t *testing.T) { refusesLaterFields(t, c) })
}

func takesBuiltFor017(t *testing.T, c client.Client) {
	t.Helper()
	v := parse(t, "0.17.0")
	queues, err := kai.NewQueues(queueTree())
	require.NoError(t, err)
	topology, err := kai.NewTopology(v, "dc", levels())
	require.NoError(t, err)
	for _, object := range []any{queues[0], queues[1], topology, podGroup(t, "0.17.0", run7()), podGroup(t, "0.17.0", treeGang()), podGroup(t, "0.15.3", run7())} {
		require.NoError(t, create(t, c, object), "%T", object)
	}
}

func takesBuiltFor014(t *testing.T, c client.Client) {
	t.Helper()
	v := parse(t, "0.14.7")
	queues, err := kai.NewQueues(queueTree())
	require.NoError(t, err)
	topology, err := kai.NewTopology(v, "dc", []kai.TopologyLevel{{NodeLabel: "example.com/zone"}, {NodeLabel: corev1.LabelHostname}})
	require.NoError(t, err)
	for _, object := range []any{queues[0], queues[1], topology} {
		require.NoError(t, create(t, c, object), "%T", object)
	}
}

// refusedCase is an object that both the API server and this package refuse.
type refusedCase struct {
	name   string
	object any
	want   string
}

// podGroupsRefusedBy017 break rules of the CRD itself; those of the webhook no API server knows by itself.
func podGroupsRefusedBy017(t *testing.T) []refusedCase {
	t.Helper()
	bad := func(change func(*kai.PodGroup)) *kai.PodGroup {
		group := podGroup(t, "0.17.0", run7())
		change(group)
		return group
	}
	return []refusedCase{
		{"minMember of 0", bad(func(g *kai.PodGroup) { g.Spec.MinMember, g.Spec.MinSubGroup = ptr.To[int32](0), nil }), "spec.minMember"},
		{"minSubGroup of 0", bad(func(g *kai.PodGroup) { g.Spec.MinSubGroup = ptr.To[int32](0) }), "spec.minSubGroup"},
		{"a subgroup that is no DNS label", bad(func(g *kai.PodGroup) { g.Spec.SubGroups[0].Name = "gpu_workers" }), "spec.subGroups[0].name"},
		{"a subgroup without a name", bad(func(g *kai.PodGroup) { g.Spec.SubGroups[0].Name = "" }), "spec.subGroups[0].name"},
		{"a negative leaf", bad(func(g *kai.PodGroup) { g.Spec.SubGroups[0].MinMember = ptr.To[int32](-1) }), "spec.subGroups[0].minMember"},
		{"an unknown preemptibility", bad(func(g *kai.PodGroup) { g.Spec.Preemptibility = "never" }), "spec.preemptibility"},
		{"a name that is too long", bad(func(g *kai.PodGroup) {
			g.Metadata.Name = fmt.Sprintf("%0254d", 0)
		}), "metadata.name"},
	}
}

func refusesPodGroups(t *testing.T, c client.Client) {
	t.Helper()
	for _, bad := range podGroupsRefusedBy017(t) {
		require.ErrorContains(t, create(t, c, bad.object), bad.want, bad.name)
		require.NotEmpty(t, kai.Refused(kai.Check(parse(t, "0.17.0"), kai.GangPerRun, read(t, bad.object))), bad.name)
	}
}

func refusesTopologies(t *testing.T, c client.Client) {
	t.Helper()
	for _, bad := range []struct {
		want   string
		levels []kai.TopologyLevel
	}{
		{"nodeLabel must be unique", []kai.TopologyLevel{{NodeLabel: "rack"}, {NodeLabel: "rack"}}},
		{"can only be used at the lowest level", []kai.TopologyLevel{{NodeLabel: corev1.LabelHostname}, {NodeLabel: "rack"}}},
		{"spec.levels: Invalid value: 0", []kai.TopologyLevel{}},
		{"must have at most 16 items", manyLevels(17)},
		{"spec.levels[0].nodeLabel in body should match", []kai.TopologyLevel{{NodeLabel: "a b"}}},
		{"spec.levels[0].alias in body should match", []kai.TopologyLevel{{NodeLabel: "rack", Alias: "a b"}}},
		{"spec.levels[0].nodeLabel: Invalid value: \"\"", []kai.TopologyLevel{{}}},
		{"spec.levels[0].nodeLabel: Too long: may not be more than 3", []kai.TopologyLevel{{NodeLabel: fmt.Sprintf("%0400d", 0)}}},
	} {
		topology := &kai.Topology{APIVersion: "kai.scheduler/v1alpha1", Kind: "Topology", Metadata: kai.Metadata{Name: "dc"}, Spec: kai.TopologySpec{Levels: bad.levels}}
		require.ErrorContains(t, create(t, c, topology), bad.want)
		_, err := kai.NewTopology(parse(t, "0.17.0"), "dc", bad.levels)
		require.Error(t, err, bad.want)
	}
}

func manyLevels(n int) []kai.TopologyLevel {
	out := make([]kai.TopologyLevel, n)
	for i := range out {
		out[i].NodeLabel = fmt.Sprintf("level-%d", i)
	}
	return out
}

func refusesLaterFields(t *testing.T, c client.Client) {
	t.Helper()
	for _, bad := range []refusedCase{
		{"minSubGroup and a leaf of 0", podGroup(t, "0.15.3", run7()), `unknown field "spec.minSubGroup"`},
		{"a grace period", podGroup(t, "0.17.0", treeGang()), `unknown field "spec.stalenessGracePeriod"`},
	} {
		require.ErrorContains(t, create(t, c, bad.object), bad.want, bad.name)
		require.NotEmpty(t, kai.Refused(kai.Check(parse(t, "0.14.7"), kai.GangPerCluster, read(t, bad.object))), bad.name)
	}
	topology, err := kai.NewTopology(parse(t, "0.17.0"), "dc", levels())
	require.NoError(t, err)
	require.ErrorContains(t, create(t, c, topology), `unknown field "spec.levels[1].alias"`)
}
