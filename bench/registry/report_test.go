package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func example() *report {
	return &report{
		Largest: 1000,
		Contests: []contest{
			{Algorithm: library.name, Writers: 1000, Landed: 1000, Ratio: 1.204},
			{Algorithm: fiveTries.name, Writers: 1000, Landed: 14, Failed: 986},
			{Algorithm: libraryJoin.name, Writers: 1000, Landed: 1000, Ratio: 1.61},
		},
		OneWriteMs: 4,
		Notices:    []notice{{How: watching.name, Waiters: 1, P50Ms: 8.04}, {How: polling.name, Waiters: 1, P50Ms: 1000}},
		Sidecar:    idle{BinaryMiB: 11, RSSMiB: 13.25},
	}
}

func TestTheLastLineSumsItUp(t *testing.T) {
	var out strings.Builder
	require.NoError(t, example().print(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, "registry: 1000 writers landed=1000 wall/floor=1.20; 1000 joiners landed=1000 wall/floor=1.61; notify p50=8.0ms; rss=13.2 MiB",
		lines[len(lines)-1])
	require.Contains(t, out.String(), "NOT met  1000 joiners, wall against floor: 1.61, at most 1.50")
	require.Contains(t, out.String(), "met      notify p50 against one API write: 2.01, at most 3.00")
}

func TestOnlyAWriteThatTheLibraryLostIsAnError(t *testing.T) {
	r := example()
	require.NoError(t, r.lost(), "the others may lose what they like, and everybody may be slow")
	r.Contests[2].Landed, r.Contests[2].Lost = 999, 1
	require.EqualError(t, r.lost(), "library, one list: 999 of 1000 writers landed, 1 acknowledged writes are lost")
}

func TestSizes(t *testing.T) {
	sizes, err := numbers("2,1000")
	require.NoError(t, err)
	require.Equal(t, []int{2, 1000}, sizes)
	for _, bad := range []string{"", "0", "-1", "2,,3", "many"} {
		_, err := numbers(bad)
		require.Error(t, err, bad)
	}
}
