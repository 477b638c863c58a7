package peerwatch

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestClip(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", clip("short", 5))
	require.Equal(t, "lo...", clip("longer", 5))
	long := clip(strings.Repeat("\u00e9", 1000), maxNote)
	require.LessOrEqual(t, len(long), maxNote)
	require.True(t, utf8.ValidString(long))
	require.Equal(t, "?", clip("\xff", 5))
}

func TestAClusterThatNeverWasGetsNoEvent(t *testing.T) {
	t.Parallel()
	w := &Watcher{cfg: Config{Self: Ref{Name: "rl"}}}
	require.Empty(t, w.events(Action{Kind: Fail}, Peer{Ref: Ref{Name: "gym"}}))
}
