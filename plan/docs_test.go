package plan

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
)

// output is the place of a real output: <!-- FILE --> or <!-- FILE: FROM THIS LINE ON -->, and a block.
var output = regexp.MustCompile("(?s)(<!-- (\\S+?)(?:: ([^\n]*?))? -->\n```\n).*?```\n")

// With -update the page takes over what the other golden files hold.
func TestThePageShowsRealOutput(t *testing.T) {
	const file = "../docs/plan.md"
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	shown := 0
	want := output.ReplaceAllStringFunc(string(page), func(block string) string {
		shown++
		part := output.FindStringSubmatch(block)
		text, err := os.ReadFile(filepath.Join("..", part[2]))
		require.NoError(t, err)
		_, after, found := strings.Cut(string(text), "\n"+part[3]+"\n")
		if part[3] != "" {
			require.True(t, found, "%s has no line %q", part[2], part[3])
			text = []byte(part[3] + "\n" + after)
		}
		return part[1] + string(text) + "```\n"
	})
	require.Equal(t, 2, shown)
	golden.Assert(t, want, "../"+file)
}

func TestThePageNamesWhatIsLookedAt(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/plan.md")
	require.NoError(t, err)
	for _, where := range referred {
		if where.Resource != "secrets" && where.Resource != "configmaps" {
			require.Contains(t, string(page), where.Resource)
		}
	}
	for _, resource := range []string{queueResource.Resource, topologyResource.Resource, storageResource.Resource} {
		require.Contains(t, string(page), resource)
	}
	for _, state := range []State{Missing, Refused, Short, Unknown} {
		require.Contains(t, string(page), string(state))
	}
}
