package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/manifests/workload"
)

func wholeRun(minCount int32) workload.Workload {
	return workload.Workload{
		Name: "run7", Namespace: "default", Labels: map[string]string{"tandem.dev/run": "run7"},
		Groups: []workload.Group{{Name: workload.WholeRun, MinCount: minCount}},
	}
}

func TestAWorkloadIsBuiltAsTheGoldenFileHasIt(t *testing.T) {
	t.Parallel()
	built, err := workload.Build(wholeRun(6))
	require.NoError(t, err)
	data, err := yaml.Marshal(built)
	require.NoError(t, err)
	golden.Assert(t, string(data), "workload.golden.yaml")
}

// badCase is a Workload that is not built, and that the API server refuses too.
type badCase struct {
	name   string
	change func(*workload.Workload)
	want   string
	server string // what the API server says
}

func badCases() []badCase {
	return []badCase{
		{"no name", func(w *workload.Workload) { w.Name = "Run 7" }, `Workload "Run 7": name: a lowercase RFC 1123 subdomain`, "metadata.name"},
		{"no groups", func(w *workload.Workload) { w.Groups = nil }, `no groups: a gang needs one; use "all"`, "spec.podGroups: Required value"},
		{"nine groups", func(w *workload.Workload) { w.Groups = groups(9) }, "9 groups: at most 8; make another Workload", "spec.podGroups: Too many: 9"},
		{"a group that is no DNS label", func(w *workload.Workload) { w.Groups[0].Name = "gpu_workers" }, `groups[0].name "gpu_workers"`, "spec.podGroups[0].name: Invalid value"},
		{"two groups of one name", func(w *workload.Workload) { w.Groups = append(w.Groups, w.Groups[0]) }, `groups[1].name "all": another group has this name`, "Duplicate value"},
		{"a gang of nobody", func(w *workload.Workload) { w.Groups[0].MinCount = 0 }, "groups[0].minCount 0: must be at least 1", "minCount"},
	}
}

func groups(n int) []workload.Group {
	var out []workload.Group
	for i := range n {
		out = append(out, workload.Group{Name: string(rune('a' + i)), MinCount: 1})
	}
	return out
}

func TestWorkloadsThatTheAPIServerWouldRefuseAreNotBuilt(t *testing.T) {
	t.Parallel()
	for _, c := range badCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := wholeRun(6)
			c.change(&w)
			_, err := workload.Build(w)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestEightGroupsAreBuilt(t *testing.T) {
	t.Parallel()
	w := wholeRun(6)
	w.Groups = groups(8)
	built, err := workload.Build(w)
	require.NoError(t, err)
	require.Len(t, built.Spec.PodGroups, 8)
}
