package reap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBudgetsAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"3/1h", "2/10m,6/24h", "1/1h30m", "5/90s"} {
		budget, err := ParseBudget(text)
		require.NoError(t, err)
		again, err := ParseBudget(budget.String())
		require.NoError(t, err)
		require.Equal(t, budget, again)
	}
	require.Equal(t, "2/10m,6/24h", DefaultPolicy().GangBudget.String())
}

func TestBadBudgets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":          "want COUNT/WINDOW",
		"3":         "want COUNT/WINDOW",
		"three/1h":  "no whole number",
		"3/hour":    "invalid duration",
		"0/1h":      "more than zero",
		"3/-1h":     "more than zero",
		"3/1h,":     "want COUNT/WINDOW",
		"3/1h,2/0s": "more than zero",
	} {
		_, err := ParseBudget(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func TestAPolicyReportsEveryProblem(t *testing.T) {
	t.Parallel()
	err := Policy{Exclude: "cordon", NodeBudget: Budget{{0, time.Hour}}}.validate()
	for _, want := range []string{"stuck-after", "recent-within", "report-after", "causes", "node-budget: 0/1h", "gang-budget: want at least one", "total-budget", `exclude "cordon": want report or taint`} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, DefaultPolicy().validate())
}
