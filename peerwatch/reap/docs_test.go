package reap

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updatePage = flag.Bool("update", false, "write the decision table of docs/reap.md again")

// TestThePageShowsTheDecisions holds the table of the page against the one that Decide is tested with.
func TestThePageShowsTheDecisions(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	const begin, end = "<!-- decisions -->\n", "<!-- end of decisions -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, end)
	want := before + begin + decisionTable() + end + after
	if *updatePage {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run: go test ./peerwatch/reap -run TestThePage -update")
}

func decisionTable() string {
	var b strings.Builder
	b.WriteString("| what is seen | decision | reason, or when it looks again |\n|---|---|---|\n")
	for _, c := range cases {
		kind, why := string(c.want), c.reason
		if kind == "" {
			kind = "none"
		}
		if why == "" && c.again > 0 {
			why = "looks again at " + start.Add(c.again).Format("15:04")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.name, kind, why)
	}
	return b.String()
}

func TestThePageNamesWhatOthersRelyOn(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, reason := range eventReasons {
		require.Contains(t, string(text), "| `"+reason+"` |")
	}
	for _, name := range []string{Taint, DefaultBook, keyPrefix + "NAME"} {
		require.Contains(t, string(text), "`"+name+"`")
	}
	_, metrics, found := strings.Cut(string(text), "tandem_reap_pods{decision}")
	require.True(t, found)
	for _, kind := range Kinds {
		require.Contains(t, metrics, string(kind))
	}
}
