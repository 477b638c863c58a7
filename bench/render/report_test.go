package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoalsThatAreMissedAreNamed(t *testing.T) {
	t.Parallel()
	fine := func() *report {
		return &report{Cases: []result{
			{size{50, 100}, sample{Milliseconds: 20, PeakMiB: 40}},
			{goal, sample{Milliseconds: 40, PeakMiB: 50}},
			{size{200, 100}, sample{Milliseconds: 80, PeakMiB: 70}},
			{size{100, 1}, sample{Milliseconds: 40, PeakMiB: 50}},
			{size{100, 1000}, sample{Milliseconds: 40, PeakMiB: 50}},
		}}
	}
	require.Empty(t, fine().judge())
	tests := []struct {
		name   string
		change func(*report)
		says   string
	}{
		{"too slow", func(r *report) { r.Cases[1].Milliseconds = 1001 }, "time of 10,000 pods: 1001.00 ms"},
		{"too large", func(r *report) { r.Cases[1].PeakMiB = 151 }, "memory of 10,000 pods"},
		{"quadratic in the groups", func(r *report) { r.Cases[2].Milliseconds = 320 }, "growth with the groups, beyond proportion: 4.00"},
		{"dependent on the pods", func(r *report) { r.Cases[4].Milliseconds = 400 }, "growth with the pods: 10.00"},
		{"a case that was not measured", func(r *report) { r.Cases = nil }, "time of 10,000 pods"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := fine()
			tt.change(r)
			missed := r.judge()
			require.NotEmpty(t, missed)
			require.ErrorContains(t, missed[0], tt.says)
		})
	}
}

func TestACaseIsMeasured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, measureHere("3x2", &out))
	require.Contains(t, out.String(), `"bytes":`)
	require.ErrorContains(t, measureHere("many", &out), "want GROUPSxPODS")
}
