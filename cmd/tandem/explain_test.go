package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/schema"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 60)
	for line := range strings.Lines(wrap(long+"\n\n"+long, indent)) {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), wide)
		require.True(t, line == "\n" || strings.HasPrefix(line, indent+"word"), "%q", line)
	}
	require.Equal(t, strings.Fields(long), strings.Fields(wrap(long, indent)), "nothing is lost")
	require.Equal(t, indent+strings.Repeat("x", 2*wide), wrap(strings.Repeat("x", 2*wide), indent), "a long word stays whole")
}

func TestFirstSentence(t *testing.T) {
	t.Parallel()
	require.Equal(t, "One.", firstSentence("One. Two."))
	require.Equal(t, "Ray 2.52 and later", firstSentence("Ray 2.52 and later"))
	require.Equal(t, "One", firstSentence("One\n\nTwo"))
}

// TestExplainEverything: every field has a page.
func TestExplainEverything(t *testing.T) {
	t.Parallel()
	var visit func(schema.Field)
	visit = func(f schema.Field) {
		var page strings.Builder
		require.NoError(t, writeField(&page, f))
		require.Contains(t, page.String(), "FIELD:    "+f.Path+" <")
		for _, child := range f.Fields() {
			require.Contains(t, page.String(), "\n"+indent+child.Name+" <")
			if child.Own() {
				visit(child)
			}
		}
	}
	visit(schema.Root())
}
