package peerwatch

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestRemainsAreOfWhatFailed(t *testing.T) {
	t.Parallel()
	obs := healthy()
	list, _ := remains(DefaultPolicy(), "", obs)
	require.Empty(t, list)

	ended := Container{Name: "ray-worker", Exit: &Exit{1, "Error"}}
	for range 5 {
		gym(&obs).Workers = append(gym(&obs).Workers, Pod{Name: "w", Owner: "gym-1", Containers: []Container{ended}})
	}
	gym(&obs).Workers = append(gym(&obs).Workers, Pod{Name: "old", Owner: "gym-0", Containers: []Container{ended}})
	gym(&obs).Heads[0].Containers = []Container{
		{Name: "registry", Restarts: 1}, {Name: "ray-head", Restarts: 1, Exit: &Exit{137, "OOMKilled"}, Again: true},
	}
	list, logs := remains(DefaultPolicy(), "", obs)
	require.Len(t, list, postMortemContainers)
	require.Equal(t, Remains{Pod: "gym-head", Container: "ray-head", ExitCode: new(137), Reason: "OOMKilled"}, list[0])
	require.True(t, logs[0].Previous)
	require.False(t, logs[1].Previous)
}

func TestRemainsOfWhoReportedHisOwnFailure(t *testing.T) {
	t.Parallel()
	obs := healthy()
	gym(&obs).Workers[0].Name = "gym-head-1" // of two names that begin alike the longer one is meant
	rl(&obs).Heads[0].Containers[0].Exit = &Exit{1, "Error"}
	list, logs := remains(DefaultPolicy(), "pod gym-head-1: vllm ended with exit code 137", obs)
	require.Equal(t, []Remains{
		{Pod: "gym-head-1", Container: "ray-worker"},
		{Pod: "rl-head", Container: "ray-head", ExitCode: new(1), Reason: "Error"},
	}, list, "the first has not ended yet")
	require.False(t, logs[0].Previous)
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, raw, want string }{
		{"nothing", "", ""},
		{"lines", "a\nb\n", "a\nb"},
		{"the last ones", strings.Repeat("a\n", 100) + "b\n", strings.Repeat("a\n", postMortemLines-1) + "b"},
		{"a progress bar", "1%\r50%\r100%\r\ndone", "100%\ndone"},
		{"colours", "\x1b[31mred\x1b[0m\t\ax", "red\tx"},
		{"not UTF-8", "a\xffb", "a?b"},
	} {
		require.Equal(t, tc.want, lastLines([]byte(tc.raw)), tc.name)
	}
	long := lastLines([]byte(strings.Repeat("\u00e9", 10000) + "the end"))
	require.LessOrEqual(t, len(long), postMortemBytes)
	require.True(t, utf8.ValidString(long))
	require.True(t, strings.HasSuffix(long, "the end"))
}
