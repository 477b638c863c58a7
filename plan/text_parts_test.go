package plan

import (
	"bytes"
	"fmt"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

func TestPartsOfAKindAreOneLine(t *testing.T) {
	t.Parallel()
	var many []Part
	for i := range 12 {
		many = append(many, Part{Name: fmt.Sprintf("rl-trainer-segment-%d", i), Min: 2, Pods: 2, Topology: "within one rack"})
	}
	tests := []struct {
		name  string
		parts []Part
		want  string
	}{
		{"none", nil, ""},
		{"two of a kind", many[:2], "rl-trainer-segment-0: 2 of 2 pods, within one rack\nrl-trainer-segment-1: 2 of 2 pods, within one rack\n"},
		{"many of a kind", many, "rl-trainer-segment-0 to rl-trainer-segment-11, each: 2 of 2 pods, within one rack\n"},
		{"others between them", []Part{many[0], many[1], {Name: "head", Min: 1, Pods: 1}, many[2]}, "rl-trainer-segment-0: 2 of 2 pods, within one rack\n" +
			"rl-trainer-segment-1: 2 of 2 pods, within one rack\nhead: 1 of 1 pod\nrl-trainer-segment-2: 2 of 2 pods, within one rack\n"},
		{"a part with one below it", []Part{{Name: "head", Min: 1}, {Name: "head-replica-0", Parent: "head", Min: 1, Pods: 1}}, "head: 1 of 1 pod\n"},
		{
			"a part with several below it",
			[]Part{{Name: "rl", Min: 2, Topology: "within one rack"}, {Name: "a", Parent: "rl", Min: 1, Pods: 1}, {Name: "b", Parent: "rl", Min: 0, Pods: 3}},
			"rl: 2 of its 2 parts, within one rack\n  a: 1 of 1 pod\n  b: 0 of 3 pods\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			w := &writer{tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)}
			w.parts(rowsOf(tt.parts, ""), "")
			require.NoError(t, w.Flush())
			require.Equal(t, tt.want, out.String())
		})
	}
}
