package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Every scalar of every input is in the Run or in the list of what is not: changing it changes one of the two, or is refused.
func TestNoValueIsLostInSilence(t *testing.T) {
	t.Parallel()
	for _, name := range inputs(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			file := read(t, name)
			before := outcomeOf(file)
			require.False(t, isError(before), before)
			roots := parse(t, file)
			for _, scalar := range scalars(roots) {
				old := scalar.Value
				change(scalar)
				if outcomeOf(written(t, file.Name, roots)) == before {
					t.Errorf("line %d: %q has become %q, and neither the Run nor the list of what was dropped tells", scalar.Line, old, scalar.Value)
				}
				scalar.Value = old
			}
		})
	}
}

// inputs are NeMo-RL's workloads, where they are, and our own.
func inputs(t *testing.T) []string {
	t.Helper()
	own, err := filepath.Glob("testdata/in/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, own)
	if _, err := os.Stat(examplesDir); err != nil {
		t.Logf("skipped: NeMo-RL's own files, since %s is not there: %v", examplesDir, err)
		return own
	}
	for _, name := range examples {
		own = append(own, filepath.Join(examplesDir, name+".yaml"))
	}
	return own
}

func read(t *testing.T, name string) File {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return File{Name: filepath.Base(name), Data: data}
}

// outcomeOf is everything that an import says.
func outcomeOf(file File) string {
	result, err := Import([]File{file}, options)
	if err != nil {
		return "error: " + err.Error()
	}
	out := string(result.YAML)
	for _, d := range result.Dropped {
		out += fmt.Sprintln(d.Object, d.Path, d.Value, d.Reason)
	}
	return out + strings.Join(result.Needs, "\n")
}

func isError(outcome string) bool { return strings.HasPrefix(outcome, "error: ") }

func parse(t *testing.T, file File) []*yaml.Node {
	t.Helper()
	roots, err := documents(file)
	require.NoError(t, err)
	return roots
}

func written(t *testing.T, name string, roots []*yaml.Node) File {
	t.Helper()
	var out strings.Builder
	for _, root := range roots {
		data, err := yaml.Marshal(root)
		require.NoError(t, err)
		fmt.Fprintf(&out, "---\n%s", data)
	}
	return File{Name: name, Data: []byte(out.String())}
}

// scalars of all documents that are values, each once.
func scalars(roots []*yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				continue
			}
			if child.Kind == yaml.ScalarNode {
				out = append(out, child)
			}
			walk(child)
		}
	}
	for _, root := range roots {
		walk(root)
	}
	return out
}

type entryAt struct {
	mapping *yaml.Node
	at      int
}

func fields(roots []*yaml.Node) []entryAt {
	var out []entryAt
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 {
				if !hasAnchor(n.Content[i+1]) {
					out = append(out, entryAt{n, i})
				}
				continue
			}
			walk(child)
		}
	}
	for _, root := range roots {
		walk(root)
	}
	return out
}

// hasAnchor: without it the aliases would have no meaning.
func hasAnchor(n *yaml.Node) bool {
	if n.Anchor != "" {
		return true
	}
	for _, child := range n.Content {
		if hasAnchor(child) {
			return true
		}
	}
	return false
}

// change makes another value of the same kind: another number, quantity, truth or name.
func change(n *yaml.Node) {
	switch {
	case n.Tag == "!!bool":
		n.Value = map[string]string{"true": "false", "false": "true"}[n.Value]
	case n.Value != "" && n.Value[0] >= '0' && n.Value[0] <= '9':
		n.Value = "1" + n.Value
	default:
		n.Value += "x"
	}
}

func TestTheListOfWhatWasDroppedIsInTheOrderOfThePaths(t *testing.T) {
	t.Parallel()
	l := newLedger("Kind/name", map[string]any{"b": 1, "a": map[string]any{"x": []any{"y"}, "z": map[string]any{}}})
	l.node().at("b").drop("a reason")
	require.Equal(t, []Dropped{
		{"Kind/name", "a.x[0]", "y", notKnown},
		{"Kind/name", "a.z", map[string]any{}, notKnown},
		{"Kind/name", "b", 1, "a reason"},
	}, l.close())
}

func TestTheRestOfAListIsAllOrNothing(t *testing.T) {
	t.Parallel()
	root := map[string]any{"whole": []any{map[string]any{"a": 1}}, "part": []any{map[string]any{"a": 1, "b": 2}}}
	l := newLedger("Kind/name", root)
	l.node().at("part").items()[0].at("a").take()
	require.True(t, reflect.DeepEqual(map[string]any{"whole": []any{map[string]any{"a": 1}}}, l.node().rest()))
	require.Equal(t, []Dropped{{"Kind/name", "part[0].b", 2, notKnown}}, l.close())
}
