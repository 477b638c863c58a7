package importer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// examples are the workloads of NeMo-RL, in the folder beside the checkout where the reference material is. A clone elsewhere has none.
var examples = []string{
	"disagg-jobset",
	"disagg-rayclusters",
	"rayjob-monolithic",
	"qwen3_30b_math_4n_4gpu.gb300.infra",
	"ultra_48n_pipeclean.gb300.infra",
}

const examplesDir = "../../shared/nemo-rl-examples"

// example reads one of NeMo-RL's files.
func example(t *testing.T, name string) File {
	t.Helper()
	if _, err := os.Stat(examplesDir); err != nil {
		t.Skipf("skipped: NeMo-RL's own files, since %s is not there: %v", examplesDir, err)
	}
	data, err := os.ReadFile(filepath.Join(examplesDir, name+".yaml"))
	require.NoError(t, err)
	return File{Name: name + ".yaml", Data: data}
}

// options have a user, so that infra files resolve to the same everywhere.
var options = Options{User: "researcher"}

// used are the rules that a difference has matched, and how many examples have been looked at.
type used struct {
	sync.Mutex
	rules    map[int]bool
	examples int
}

func (u *used) add(rule int) {
	u.Lock()
	defer u.Unlock()
	u.rules[rule] = true
}

func (u *used) count() {
	u.Lock()
	defer u.Unlock()
	u.examples++
}

func TestARoundTripDiffersOnlyAsIntended(t *testing.T) {
	t.Parallel()
	seen := &used{rules: map[int]bool{}}
	t.Cleanup(func() {
		for i, rule := range intended {
			if seen.examples == len(examples) && !seen.rules[i] {
				t.Errorf("no difference is explained by %s (%s)", rule.pattern, rule.reason)
			}
		}
	})
	for _, name := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := example(t, name)
			result, err := Import([]File{file}, options)
			require.NoError(t, err)
			result.Run.Metadata.Namespace = "default"
			rendered, err := manifests.Render(result.Run)
			require.NoError(t, err)
			seen.count()
			var out strings.Builder
			for _, group := range explained(t, seen, differences(originals(t, file), rendered, result.Run)) {
				fmt.Fprintf(&out, "# %s\n%s\n\n", group[0], strings.Join(group[1:], "\n"))
			}
			golden.Assert(t, out.String(), name+".differences.golden")
		})
	}
}

// explained groups differences by their reasons, which come first. One without a reason fails the test.
func explained(t *testing.T, seen *used, list []string) [][]string {
	t.Helper()
	groups := map[string][]string{}
	for _, line := range list {
		if at := reasonFor(line); at >= 0 {
			seen.add(at)
			reason := intended[at].reason
			groups[reason] = append(groups[reason], line)
		} else {
			t.Errorf("not intended: %s", line)
		}
	}
	var out [][]string
	for _, reason := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, append([]string{reason}, groups[reason]...))
	}
	return out
}

func reasonFor(line string) int {
	return slices.IndexFunc(intended, func(rule struct{ pattern, reason string }) bool {
		return regexp.MustCompile(rule.pattern).MatchString(line)
	})
}

// originals are the objects of a file as Kubernetes would have got them.
func originals(t *testing.T, file File) []map[string]any {
	t.Helper()
	objects, err := readObjects(file)
	require.NoError(t, err)
	var out []map[string]any
	for _, o := range objects {
		if o.kind == kindInfra {
			out = append(out, renderedByNRL(t, o)...)
			continue
		}
		out = append(out, o.root.(map[string]any))
	}
	return out
}

// differences of all objects. Those that are there on one side only are one line each.
func differences(were []map[string]any, are []*unstructured.Unstructured, run *v1alpha1.Run) []string {
	var out []string
	taken := map[int]bool{}
	for _, old := range were {
		kind, _ := old["kind"].(string)
		at := slices.IndexFunc(are, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && isSame(old, o, run) })
		if at < 0 {
			out = append(out, fmt.Sprintf("- %s/%v", kind, old["metadata"].(map[string]any)["name"]))
			continue
		}
		taken[at] = true
		for _, d := range compare("", side(old), side(are[at].Object)) {
			out = append(out, d.of(kind+"/"+are[at].GetName()))
		}
	}
	for i, o := range are {
		if !taken[i] {
			out = append(out, fmt.Sprintf("+ %s/%s", o.GetKind(), o.GetName()))
		}
	}
	return merged(out)
}

// merged is one line for all segments of a group, which are alike.
func merged(lines []string) []string {
	var out []string
	for _, line := range lines {
		line = segment.ReplaceAllString(line, "-segment-N")
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

var segment = regexp.MustCompile(`-segment-[0-9]+`)

// side is an object in the form in which it is compared.
func side(object map[string]any) any { return byName("", withPrograms(normal(object))) }

// of puts the object in front of the path.
func (d difference) of(object string) string {
	d.path = object + " " + pods.ReplaceAllString(d.path, "pods[$1$2$3]")
	return d.String()
}

// pods are where an object has the pods of a group.
var pods = regexp.MustCompile(`spec\.(?:rayClusterSpec\.)?(?:replicatedJobs\[([^]]*)\]\.template\.spec\.template|workerGroupSpecs\[([^]]*)\]\.template|(head)GroupSpec\.template)`)

// isSame matches RayClusters by the end of their names, of which several are in one run; of other kinds there is one.
func isSame(old map[string]any, o *unstructured.Unstructured, run *v1alpha1.Run) bool {
	if o.GetKind() != "RayCluster" || len(run.Spec.Clusters) == 1 {
		return true
	}
	name, _ := old["metadata"].(map[string]any)["name"].(string)
	_, cluster, _ := strings.Cut(o.GetName(), run.Metadata.Name+"-")
	return strings.HasSuffix(name, "-"+cluster)
}

// normal calls the first container of each pod "main", so that it is compared with that of the other side.
func normal(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = normal(item)
		}
		if list, is := out["containers"].([]any); is && len(list) > 0 {
			first := list[0].(map[string]any)
			first["was"] = first["name"]
			first["name"] = "main"
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = normal(item)
		}
		return out
	default:
		return value
	}
}
