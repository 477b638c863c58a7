package kai_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/manifests/kai"
)

// queueTree has everything that a queue can have.
func queueTree() kai.QueueTree {
	return kai.QueueTree{
		Parent: "department", Leaf: "team", DisplayName: "The team", Priority: ptr.To(200),
		Quota:           corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("850Gi"), "nvidia.com/gpu": resource.MustParse("8")},
		Limit:           corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("16")},
		OverQuotaWeight: ptr.To(2.5), PreemptMinRuntime: time.Hour, ReclaimMinRuntime: 30 * time.Minute,
	}
}

func levels() []kai.TopologyLevel {
	return []kai.TopologyLevel{{NodeLabel: "example.com/zone"}, {NodeLabel: "example.com/rack", Alias: "rack"}, {NodeLabel: corev1.LabelHostname}}
}

// treeGang has everything that a gang can have.
func treeGang() kai.RunGang {
	gang := run7()
	gang.Labels = map[string]string{"tandem.dev/run": "run7"}
	gang.Preemptibility = kai.NonPreemptible
	gang.Staleness = ptr.To(15 * time.Minute)
	gang.Topology = &kai.TopologyConstraint{Topology: "dc", Required: "example.com/zone"}
	gang.Clusters[0].Topology = &kai.TopologyConstraint{Topology: "dc", Required: "example.com/zone", Preferred: "rack"}
	gang.Clusters[0].Groups[1].Topology = &kai.TopologyConstraint{Topology: "dc", Preferred: "example.com/rack"}
	return gang
}

func TestObjectsAreBuiltAsTheGoldenFileHasThem(t *testing.T) {
	t.Parallel()
	v := parse(t, "0.17.0")
	queues, err := kai.NewQueues(queueTree())
	require.NoError(t, err)
	topology, err := kai.NewTopology(v, "dc", levels())
	require.NoError(t, err)
	var documents []string
	for _, object := range []any{queues[0], queues[1], topology, podGroup(t, "0.17.0", run7()), podGroup(t, "0.17.0", treeGang())} {
		data, err := yaml.Marshal(object)
		require.NoError(t, err)
		documents = append(documents, string(data))
	}
	golden.Assert(t, strings.Join(documents, "---\n"), "objects.golden.yaml")
}

func TestAGangNeedsAsManySubGroupsAsItHas(t *testing.T) {
	t.Parallel()
	require.Equal(t, int32(5), *podGroup(t, "0.15.3", run7()).Spec.MinSubGroup, "flat: each group")
	tree := podGroup(t, "0.17.0", treeGang()).Spec
	require.Equal(t, int32(3), *tree.MinSubGroup, "a parent for one cluster, the groups of the other")
	require.Equal(t, int32(3), *tree.SubGroups[0].MinSubGroup)
}

func TestPodGroupsThatKAIWouldRefuseAreNotBuilt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, version string
		change        func(*kai.RunGang)
		want          string
	}{
		{"a gang before 0.15", "0.14.7", func(*kai.RunGang) {}, "PodGroup of run run7 on KAI 0.14.7: one gang over several owners needs KAI 0.15 or newer; upgrade, or use gang: cluster"},
		{"a grace period before 0.17", "0.16", func(g *kai.RunGang) { g.Staleness = ptr.To(time.Minute) }, "spec.stalenessGracePeriod: KAI 0.16.8 (0.16, newest patch known) does not have it"},
		{"no queue", "0.17", func(g *kai.RunGang) { g.Queue = "" }, "spec.queue: a gang needs a leaf queue"},
		{"no groups", "0.17", func(g *kai.RunGang) { g.Clusters = nil }, "spec.minSubGroup: 0: must be at least 1"},
		{"two groups of one name", "0.17", func(g *kai.RunGang) {
			g.Clusters = append(g.Clusters, kai.GangCluster{Name: "rl-head", Topology: &kai.TopologyConstraint{Topology: "dc", Required: "zone"}, Groups: []kai.GangGroup{{Name: "x", Min: 1}}})
		}, `spec.subGroups[5].name: "rl-head": another subgroup has this name`},
		{"a group name that is no DNS label", "0.17", func(g *kai.RunGang) { g.Clusters[0].Groups[0].Name = "gpu_workers" }, `"rl-gpu_workers": must be a DNS label`},
		{"a group name that is too long", "0.17", func(g *kai.RunGang) { g.Clusters[0].Groups[0].Name = strings.Repeat("x", 61) }, "is a label value of the pods: 1 to 63"},
		{"a topology without a level", "0.17", func(g *kai.RunGang) { g.Topology = &kai.TopologyConstraint{Topology: "dc"} }, `topology "dc" without a level`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gang := run7()
			c.change(&gang)
			_, err := kai.NewPodGroup(parse(t, c.version), gang)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAGangBefore015IsAnErrorToBranchOn(t *testing.T) {
	t.Parallel()
	_, err := kai.NewPodGroup(parse(t, "0.14.7"), run7())
	require.ErrorIs(t, err, kai.ErrNoRunGang)
}

func TestPodGroupNamesDifferBetweenNamespacesAndRuns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 63)
	seen := map[string]bool{}
	for _, run := range [][2]string{{"a-b", "c"}, {"a", "b-c"}, {"a", "b"}, {"b", "a"}, {long, "run7"}, {long, "run8"}, {"a", long}, {"a", long + "x"}} {
		name := kai.PodGroupName(run[0], run[1])
		require.False(t, seen[name], "%s twice", name)
		seen[name] = true
		require.Empty(t, validation.IsDNS1123Label(name), name)
		require.True(t, strings.HasPrefix(name, "tandem-"+run[0][:1]), name)
		require.Equal(t, name, kai.PodGroupName(run[0], run[1]))
	}
}

func TestQueuesThatWouldRunNothingAreNotBuilt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*kai.QueueTree)
		want   string
	}{
		{"no parent", func(q *kai.QueueTree) { q.Parent = "" }, `queue "team": parent ""`},
		{"its own parent", func(q *kai.QueueTree) { q.Parent = "team" }, "a queue cannot be its own parent"},
		{"a name that is no label", func(q *kai.QueueTree) { q.Leaf = strings.Repeat("q", 64) }, "must be no more than 63"},
		{"a limit of 0", func(q *kai.QueueTree) { q.Limit["nvidia.com/gpu"] = resource.MustParse("0") }, "limit.nvidia.com/gpu 0: no pod that asks for it would ever run"},
		{"a negative quota", func(q *kai.QueueTree) { q.Quota[corev1.ResourceCPU] = resource.MustParse("-2") }, "quota.cpu -2: must not be negative"},
		{"a negative limit", func(q *kai.QueueTree) { q.Limit[corev1.ResourceCPU] = resource.MustParse("-1") }, "leave out a limit for none"},
		{"a quota without bound above a limit", func(q *kai.QueueTree) { q.Quota["nvidia.com/gpu"] = resource.MustParse("-1") }, "quota.nvidia.com/gpu -1: exceeds the limit of 16"},
		{"a quota above the limit", func(q *kai.QueueTree) { q.Limit["nvidia.com/gpu"] = resource.MustParse("4") }, "quota.nvidia.com/gpu 8: exceeds the limit of 4"},
		{"another resource", func(q *kai.QueueTree) { q.Quota["rdma/hca"] = resource.MustParse("1") }, "quota.rdma/hca: queues share out [cpu memory nvidia.com/gpu] only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := queueTree()
			c.change(&tree)
			_, err := kai.NewQueues(tree)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAQuotaWithoutBoundIsMinusOneInEveryUnit(t *testing.T) {
	t.Parallel()
	unlimited := resource.MustParse("-1")
	queues, err := kai.NewQueues(kai.QueueTree{Parent: "department", Leaf: "team", Quota: corev1.ResourceList{corev1.ResourceCPU: unlimited, corev1.ResourceMemory: unlimited}})
	require.NoError(t, err)
	for _, queue := range queues {
		require.Equal(t, kai.QueueResources{
			CPU:    kai.QueueResource{Quota: kai.Unlimited, Limit: kai.Unlimited},
			Memory: kai.QueueResource{Quota: kai.Unlimited, Limit: kai.Unlimited},
			GPU:    kai.QueueResource{Quota: 0, Limit: kai.Unlimited},
		}, queue.Spec.Resources)
	}
}

func TestTopologiesThatKAIWouldRefuseAreNotBuilt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, version string
		levels        []kai.TopologyLevel
		want          string
	}{
		{"no levels", "0.17", nil, "0 levels: must be 1 to 16"},
		{"too many levels", "0.17", make([]kai.TopologyLevel, 17), "17 levels"},
		{"a host that is not the finest", "0.17", []kai.TopologyLevel{{NodeLabel: corev1.LabelHostname}, {NodeLabel: "rack"}}, "move it to the end"},
		{"one label twice", "0.17", []kai.TopologyLevel{{NodeLabel: "rack"}, {NodeLabel: "rack"}}, `levels[1] "rack": names another level already`},
		{"an alias that is a label", "0.17", []kai.TopologyLevel{{NodeLabel: "rack"}, {NodeLabel: "host", Alias: "rack"}}, `levels[1] "rack"`},
		{"an alias before 0.17", "0.16", []kai.TopologyLevel{{NodeLabel: "rack", Alias: "r"}}, "has no aliases; upgrade to 0.17"},
		{"no label", "0.17", []kai.TopologyLevel{{NodeLabel: "a b"}}, `levels[0].nodeLabel "a b"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := kai.NewTopology(parse(t, c.version), "dc", c.levels)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestMinimumAnnotationsOfAJobSet(t *testing.T) {
	t.Parallel()
	const key = kai.AnnotationMinMember
	six, one := map[string]string{key: "6"}, map[string]string{key: "1"}
	for _, c := range []struct {
		version string
		mode    kai.Mode
		want    kai.MinMember
		err     string
	}{
		{"0.12", kai.GangPerCluster, kai.MinMember{}, "it starts pod by pod before 0.13"},
		{"0.12", kai.GangNone, kai.MinMember{}, ""},
		{"0.14.0", kai.GangPerCluster, kai.MinMember{}, ""},
		{"0.14.0", kai.GangNone, kai.MinMember{}, "it is always a gang from 0.13.0 to 0.14.0"},
		{"0.14", kai.GangPerCluster, kai.MinMember{Owner: six}, ""},
		{"0.15", kai.GangPerCluster, kai.MinMember{Owner: six}, ""},
		{"0.15", kai.GangNone, kai.MinMember{Owner: one}, ""},
		{"0.16", kai.GangPerCluster, kai.MinMember{}, ""},
		{"0.17", kai.GangNone, kai.MinMember{Owner: one, Template: one}, ""},
		{"0.17", kai.GangPerRun, kai.MinMember{}, "members of a PodGroup over the whole run carry no minimum"},
	} {
		got, err := kai.JobSetMinMember(parse(t, c.version), c.mode, 6)
		if c.err != "" {
			require.ErrorIs(t, err, kai.ErrNoGang)
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s %s", c.version, c.mode)
	}
}

func TestAnnotationsThatAVersionDoesNotReadAreNotBuilt(t *testing.T) {
	t.Parallel()
	_, err := kai.JobMinMember(parse(t, "0.14.0"), 3)
	require.ErrorContains(t, err, "starts pod by pod before 0.14.1")
	annotations, err := kai.JobMinMember(parse(t, "0.14.1"), 3)
	require.NoError(t, err)
	require.Equal(t, map[string]string{kai.AnnotationMinMember: "3"}, annotations)
	_, err = kai.StalenessAnnotations(parse(t, "0.16"), time.Minute)
	require.ErrorContains(t, err, "--default-staleness-grace-period")
	annotations, err = kai.StalenessAnnotations(parse(t, "0.17"), -time.Second)
	require.NoError(t, err)
	require.Equal(t, map[string]string{kai.AnnotationStaleness: "-1s"}, annotations)
}
