package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// compiled is the schema as others read it.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := JSON()
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource(ID, document))
	s, err := compiler.Compile(ID)
	require.NoError(t, err)
	return s
}

// files are Run files that are right, by path.
func files(t *testing.T) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	for _, pattern := range []string{"../../examples/*.yaml", "../../manifests/testdata/runs/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			found[path] = decoded(t, data)
		}
	}
	return found
}

func decoded(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var file map[string]any
	require.NoError(t, yaml.Unmarshal(data, &file))
	return file
}

// load is what Load says of a file.
func load(t *testing.T, file map[string]any) error {
	t.Helper()
	data, err := json.Marshal(file)
	require.NoError(t, err)
	_, err = v1alpha1.Load(data)
	return err
}

// judge is what the schema says of a file.
func judge(t *testing.T, s *jsonschema.Schema, file map[string]any) error {
	t.Helper()
	data, err := json.Marshal(file)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return s.Validate(value)
}

// TestRunFilesThatAreRight looks at every Run file of the repository that Load accepts.
func TestRunFilesThatAreRight(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	accepted := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if _, refused := v1alpha1.Load(data); err != nil || refused != nil {
			return err
		}
		accepted[path] = true
		require.NoError(t, judge(t, s, decoded(t, data)), path)
		return nil
	}))
	for path := range files(t) {
		require.Contains(t, accepted, path)
	}
}

// place is somewhere in a file: a mapping, a key of it, and the field of that name.
type place struct {
	path  string
	in    map[string]any
	key   string
	field Field
}

// places are all keys of a file for which there is a field; what is in a pod template is open.
func places(t *testing.T, at Field, path string, value any) []place {
	t.Helper()
	var found []place
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			found = append(found, places(t, at, fmt.Sprintf("%s[%d]", path, i), item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			child, is := at.child(key)
			if !is {
				continue // a map's own key
			}
			found = append(found, place{path + "." + key, value, key, child})
			found = append(found, places(t, child, path+"."+key, value[key])...)
		}
	}
	return found
}

// TestAFileWithOneMistake makes every mistake of some kinds at a place of every field: both must refuse it.
func TestAFileWithOneMistake(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	mistakes := map[string]func(place) bool{ // false: not a mistake here
		"an unknown field beside it": func(p place) bool { p.in["zzz"] = "x"; return true },
		"a mapping with an unknown field in place of the value": func(p place) bool {
			p.in[p.key] = map[string]any{"zzz": []any{}}
			return !p.field.Open() && !strings.HasPrefix(p.field.Type(), "map")
		},
		"a number in place of the value": func(p place) bool {
			p.in[p.key] = 1.5
			return p.field.Type() != "quantity"
		},
		"a required field left out": func(p place) bool {
			delete(p.in, p.key)
			return p.field.Required && ours(p.field)
		},
		"a required field left empty": func(p place) bool {
			p.in[p.key] = map[string]any{"string": "", "[]string": []any{}, "[]object": []any{}}[p.field.Type()]
			return p.field.Required && ours(p.field) && p.in[p.key] != nil
		},
		"a value that is not in the list": func(p place) bool {
			p.in[p.key] = "zzz"
			return len(p.field.Values()) > 0 && ours(p.field)
		},
	}
	made, done := map[string]int{}, map[string]bool{}
	for name, file := range files(t) {
		for i, at := range places(t, Root(), "", file) {
			if done[at.field.goName] {
				continue
			}
			done[at.field.goName] = true
			for what, change := range mistakes {
				spoiled := decoded(t, mustJSON(t, file))
				if !change(places(t, Root(), "", spoiled)[i]) {
					continue
				}
				made[what]++
				require.Error(t, load(t, spoiled), "%s: %s: %s: Load", name, at.path, what)
				require.Error(t, judge(t, s, spoiled), "%s: %s: %s: the schema", name, at.path, what)
			}
		}
	}
	for what := range mistakes {
		require.Greater(t, made[what], 5, what)
	}
}

// ours tells whether the field is declared in package v1alpha1: Load leaves what is required in Kubernetes' types to the API server.
func ours(f Field) bool {
	owner, _, _ := strings.Cut(f.goName, ".")
	_, is := known().Types["api/v1alpha1."+owner]
	return is
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return data
}

const minimal = `
apiVersion: tandem.dev/v1alpha1
kind: Run
metadata: {name: a}
spec:
  backend: raycluster
  image: registry.example/trainer:1
  clusters:
  - name: rl
    workers: [{name: gpu}]
  driver: {cluster: rl, command: [python]}
`

// set changes one field of the minimal file. A path is of names, and 0 for the first item of a list.
func set(t *testing.T, path string, value any) map[string]any {
	t.Helper()
	file := decoded(t, []byte(minimal))
	var at any = file
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		if part == "0" {
			at = at.([]any)[0]
			continue
		}
		parent := at.(map[string]any)
		if parent[part] == nil {
			parent[part] = map[string]any{}
		}
		at = parent[part]
	}
	at.(map[string]any)[parts[len(parts)-1]] = value
	return file
}

func TestValues(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	require.NoError(t, judge(t, s, decoded(t, []byte(minimal))))
	for _, tc := range []struct {
		path string
		good []any
		bad  []any
	}{
		{"apiVersion", nil, []any{"tandem.dev/v1", ""}},
		{"kind", nil, []any{"RayCluster"}},
		{"metadata.name", []any{"qwen3"}, []any{"Qwen3", "3qwen", "a_b", "a-"}},
		{"metadata.namespace", []any{"post-train", "3d"}, []any{"post_train", "-a"}},
		{"spec.backend", []any{"jobset"}, []any{"pods"}},
		{"spec.image", []any{"nvcr.io/nvidia/nemo-rl:v0.4", "localhost:5000/a@sha256:" + strings.Repeat("0", 64)}, []any{"https://nvcr.io/a", "Trainer", "a b"}},
		{"spec.imagePullPolicy", []any{"Never"}, []any{"Sometimes", true}},
		{"spec.networkPolicy", []any{true}, []any{"yes", 1}},
		{"spec.failure.onPeerFailure", []any{"cascade"}, []any{"explode"}},
		{"spec.failure.startupGrace", []any{"20m", "1h30m", "1.5h", "90s"}, []any{"20", 20, "20 m", "twenty", "m"}},
		{"spec.portRanges.ray", []any{"20000-20999"}, []any{"20000", "20000:20999", 20000}},
		{"spec.scheduling.scheduler", []any{"default"}, []any{"volcano"}},
		{"spec.clusters", nil, []any{[]any{}, "rl", map[string]any{}}},
		{"spec.clusters.0.name", nil, []any{"RL", "r.l", ""}},
		{"spec.clusters.0.ports.gcs", []any{6380}, []any{"6380", 6380.5, true}},
		{"spec.clusters.0.head.resources", []any{
			map[string]any{"cpu": "4", "memory": "850Gi"}, map[string]any{"cpu": 4}, map[string]any{"cpu": "500m", "memory": "1e9"}, map[string]any{"cpu": 0.5},
		}, []any{map[string]any{"cpu": "four"}, map[string]any{"memory": "850GB"}, map[string]any{"memory": "1 Gi"}, []any{"cpu"}}},
		{"spec.clusters.0.head.gpus", []any{8}, []any{"8", 0.5}},
		{"spec.clusters.0.head.command", []any{[]any{"a"}}, []any{"a", []any{1}}},
		{"spec.clusters.0.head.rayStartParams", []any{map[string]any{"num-cpus": "0"}}, []any{map[string]any{"num-cpus": 0}}},
		{"spec.clusters.0.workers.0.replicas", []any{0, 4}, []any{"4", 1.5}},
		{"spec.env", []any{[]any{map[string]any{"name": "A", "value": "1"}}}, []any{map[string]any{"A": "1"}, []any{map[string]any{"name": "A", "value": 1}}, []any{map[string]any{"name": "A", "from": "x"}}}},
		{"spec.driver.command", nil, []any{[]any{}, "python"}},
	} {
		for _, value := range tc.good {
			file := set(t, tc.path, value)
			require.NoError(t, load(t, file), "%s: %v: Load", tc.path, value)
			require.NoError(t, judge(t, s, file), "%s: %v: the schema", tc.path, value)
		}
		for _, value := range tc.bad {
			file := set(t, tc.path, value)
			require.Error(t, load(t, file), "%s: %v: Load", tc.path, value)
			require.Error(t, judge(t, s, file), "%s: %v: the schema", tc.path, value)
		}
	}
}
