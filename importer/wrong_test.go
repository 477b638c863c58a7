package importer

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Any field may be missing, which nothing stumbles over. And a value of another kind than Kubernetes has there is an error, or is dropped
// with its value: it is never taken for a field that is missing.
func TestAValueOfTheWrongKindIsNotTakenForNone(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/in/*.yaml")
	require.NoError(t, err)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			file := read(t, name)
			roots := parse(t, file)
			for _, one := range fields(roots) {
				all := one.mapping.Content
				key, old := all[one.at], all[one.at+1]
				one.mapping.Content = append(all[:one.at:one.at], all[one.at+2:]...)
				without := outcomeOf(written(t, file.Name, roots))
				one.mapping.Content = all
				all[one.at+1] = otherKind(old)
				if with := outcomeOf(written(t, file.Name, roots)); with == without && !isError(with) {
					t.Errorf("line %d: %s is of another kind, and nothing tells", old.Line, key.Value)
				}
				all[one.at+1] = old
			}
		})
	}
}

// otherKind is a list in the place of a scalar, and a scalar in the place of all else.
func otherKind(n *yaml.Node) *yaml.Node {
	scalar := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "7"}
	if n.Kind != yaml.ScalarNode {
		return scalar
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{scalar}}
}
