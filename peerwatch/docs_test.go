package peerwatch

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updatePage = flag.Bool("update", false, "write the decision tables of docs/peerwatch.md again")

const page = "../docs/peerwatch.md"

// TestThePageShowsTheDecisions holds the tables of the page against those that Decide is tested with.
func TestThePageShowsTheDecisions(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	want := replace(t, string(text), "decisions", decisionTableOf(decisions))
	want = replace(t, want, "decisions by kind", kindTable())
	want = replace(t, want, "policies", policyTable())
	want = replace(t, want, "restarts", decisionTableOf(restarts))
	want = replace(t, want, "followings", followTable())
	want = replace(t, want, "last words", lastWordsTable())
	if *updatePage {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run: go test ./peerwatch -run TestThePage -update")
}

// replace puts a table between its two markers.
func replace(t *testing.T, text, name, table string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(text, begin)
	require.True(t, found, begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, end)
	return before + begin + table + end + after
}

func decisionTableOf(rows []decision) string {
	var b strings.Builder
	b.WriteString("| what is seen | decision | reason, or when it looks again |\n|---|---|---|\n")
	for _, d := range rows {
		why := d.reason
		if d.again > 0 && why == "" {
			why = fmt.Sprintf("looks again %s after its start", d.again)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", d.name, d.want, why)
	}
	return b.String()
}

func kindTable() string {
	var b strings.Builder
	b.WriteString("| what is seen | decision | reason |\n|---|---|---|\n")
	for _, d := range decisionsByKind {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", d.name, d.want, d.reason)
	}
	return b.String()
}

func policyTable() string {
	var b strings.Builder
	b.WriteString("| what is seen | policy | decision | reason |\n|---|---|---|---|\n")
	for _, d := range decisionsByPolicy {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.name, d.policy, d.want.Kind, d.want.Reason)
	}
	return b.String()
}

func followTable() string {
	var b strings.Builder
	b.WriteString("| what is seen | its own cluster | gym | driver | decision | reason |\n|---|---|---|---|---|---|\n")
	for _, f := range followings {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.name, f.rl, f.gym, f.driver, f.want, f.reason)
	}
	return b.String()
}

func lastWordsTable() string {
	var b strings.Builder
	b.WriteString("| why the watcher is stopped | it says | reason |\n|---|---|---|\n")
	for _, w := range lastWords {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", w.name, w.want, w.reason)
	}
	return b.String()
}

func TestThePageNamesWhatOthersRelyOn(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, name := range []string{EventCascade, EventSucceeded, EventSignalled, PostMortemAnnotation, SuspendedWithAnnotation, EventRestart, RestartAnnotation} {
		require.Contains(t, string(text), "`"+name+"`")
	}
	for kind, traits := range kindTraits {
		require.Contains(t, string(text), fmt.Sprintf("| `%s` | `%s` |", kind, traits.resource))
	}
}
