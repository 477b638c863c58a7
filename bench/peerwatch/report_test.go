package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func example() *report {
	return &report{
		Cells: []cell{
			{Kill: kills[0].name, Clusters: 2, Trials: 30, P50Ms: 90, P99Ms: 120},
			{Kill: kills[0].name, Clusters: 8, Trials: 30, P50Ms: 250, P99Ms: 371.4},
			{Kill: kills[4].name, Soft: true, Clusters: 2, Trials: 30, P50Ms: 50, P99Ms: 84},
		},
		Storms:  []storm{{Code: 503, Runs: 5, Polling: 3, Decided: 7}},
		Polling: polled{P50S: 4.94, Missed: 90, Cells: []polledCell{{Kill: kills[0].name, Trials: 30, Missed: 30}, {Kill: kills[4].name, Trials: 30, P50S: 5, P99S: 9}}},
		Sidecar: sidecar{BinaryMiB: 11, RSSMiB: 13.52},
	}
}

func TestTheLastLineSumsItUp(t *testing.T) {
	var out strings.Builder
	require.NoError(t, example().print(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, "peerwatch: hard p99=371ms soft p99=grace+84ms false=0 rss=13.5 MiB; polling: p50=4.9s missed=90", lines[len(lines)-1])
}

func TestAMissedGoalIsAnError(t *testing.T) {
	require.NoError(t, example().failed())
	for name, test := range map[string]struct {
		change func(*report)
		want   string
	}{
		"a slow hard failure":          {func(r *report) { r.Cells[1].P99Ms = 1001 }, "hard failures, the worst p99: 1001.00 ms, at most 1000.00 ms"},
		"a slow soft failure":          {func(r *report) { r.Cells[2].P99Ms = 1001 }, "soft failures"},
		"a run that was left":          {func(r *report) { r.Cells[0].Missed = 1 }, "not taken down: 1.00"},
		"a run down before its kill":   {func(r *report) { r.Cells[0].False = 1 }, "by mistake: 1.00"},
		"a run down in a storm":        {func(r *report) { r.Storms[0].False = 1 }, "by mistake: 1.00"},
		"a watcher that is never idle": {func(r *report) { r.Sidecar.Requests = 1 }, "requests of idle watchers"},
		"a large watcher":              {func(r *report) { r.Sidecar.RSSMiB = 15 }, "resident memory"},
	} {
		t.Run(name, func(t *testing.T) {
			r := example()
			test.change(r)
			require.ErrorContains(t, r.failed(), test.want)
		})
	}
}

func TestWhatThePollingWatcherMissedIsCounted(t *testing.T) {
	p := summarize(2, map[string][]time.Duration{kills[2].name: {3 * time.Second, 5 * time.Second}, kills[3].name: {4 * time.Second}})
	require.Equal(t, len(kills)*2, p.Trials)
	require.Equal(t, len(kills)*2-3, p.Missed)
	require.InDelta(t, 4, p.P50S, 0)
	require.Equal(t, polledCell{Kill: kills[2].name, Trials: 2, P50S: 3, P99S: 5}, p.Cells[2])
}

func TestSizes(t *testing.T) {
	sizes, err := numbers("2,8")
	require.NoError(t, err)
	require.Equal(t, []int{2, 8}, sizes)
	for _, bad := range []string{"", "1", "-1", "2,,3", "many"} {
		_, err := numbers(bad)
		require.Error(t, err, bad)
	}
}
