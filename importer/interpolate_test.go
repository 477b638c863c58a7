package importer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReferencesOfAnInfraFileAreResolved(t *testing.T) {
	root := func(text any) map[string]any {
		return map[string]any{
			"n": 4, "name": "qwen", "list": []any{map[string]any{"x": 8}}, "deep": map[string]any{"up": 2, "in": map[string]any{"it": text}},
			"again": "${name}-2",
		}
	}
	t.Setenv("TANDEM_TEST_SET", "yes")
	for text, want := range map[string]any{
		"plain":                        "plain",
		"${n}":                         4,
		"${name}-${n}":                 "qwen-4",
		"${again}":                     "qwen-2",
		"${list[0].x}":                 8,
		"${list.0.x}":                  8,
		"${..up}":                      2,
		"${user:}-x":                   "jane-x",
		"${mul:2,${n}}":                8,
		"${div: ${n}, 8}":              0.5,
		"${max:${n},9}":                9,
		"${add:1,1}":                   2,
		"${oc.env:TANDEM_TEST_SET}":    "yes",
		"${oc.env:TANDEM_TEST_NOT,no}": "no",
		`\${HOME}`:                     "${HOME}",
		`\${A} ${n} \${B:-x}`:          "${A} 4 ${B:-x}",
		`\\${n}`:                       `\4`,
		`a\b $(date) $X`:               `a\b $(date) $X`,
	} {
		got, err := interpolate(root(text), "jane")
		require.NoError(t, err, text)
		require.Equal(t, want, got.(map[string]any)["deep"].(map[string]any)["in"].(map[string]any)["it"], text)
	}
}

func TestAReferenceThatCannotBeResolvedSaysWhy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"${nowhere}":               "a: ${nowhere} refers to nowhere, which is not in the file",
		"${a}":                     "a: ${a} refers to itself",
		"${....x}":                 "a: ${....x} is above the file",
		"${HOME:-/root}":           "a: nrl-k8s has no resolver \"HOME\": write \\${ for a variable of the shell",
		"${open":                   "a: \"${open\" has no end: write }, or \\${ for a variable of the shell",
		"${mul:1}":                 "a: mul takes two numbers, not 1",
		"${div:1,0}":               "a: a division by zero",
		"${oc.env:TANDEM_NOT_SET}": "a: the environment variable TANDEM_NOT_SET is not set",
	} {
		_, err := interpolate(map[string]any{"a": text}, "jane")
		require.EqualError(t, err, want)
	}
}
