package rayline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/test/rayline"
)

// The wanted lines are what Python 3.11's subprocess.list2cmdline prints.
func TestACommandIsJoinedAsPythonDoes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		command []string
		want    string
	}{
		{"plain words", []string{"python", "train.py"}, `python train.py`},
		{"blanks", []string{"a b", "c\td", ""}, "\"a b\" \"c\td\" \"\""},
		{"what a shell would expand stays bare", []string{"$HOME", "it's", "c;d"}, `$HOME it's c;d`},
		{"double quotes", []string{`x"y`, `a "b"`}, `x\"y "a \"b\""`},
		{"backslashes", []string{`a\b`, `tr\`, `a b\`, `a\"b`, `a\\" b`}, `a\b tr\ "a b\\" a\\\"b "a\\\\\" b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, rayline.Join(tt.command))
		})
	}
}
