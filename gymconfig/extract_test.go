package gymconfig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// extractText extracts from a recipe whose section is the text given, beside some values of a trainer.
func extractText(t *testing.T, section string, o Options) (*Result, error) {
	t.Helper()
	recipe := "policy:\n  judge: ???\n  name: m\n  tokens: 8\n  list: [a, b]\nenv:\n  nemo_gym:\n    x: 1\n"
	for line := range strings.Lines(section) {
		recipe += "    " + line
	}
	return Extract(writeFiles(t, map[string]string{"recipe.yaml": recipe}), o)
}

// TestG2OnlyWhatCannotBeResolvedIsDropped: NeMo-RL's own server drops every string of a mapping that has a ${ in it, and keeps those in lists.
func TestG2OnlyWhatCannotBeResolvedIsDropped(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ name, section, written, dropped string }{
		{"a reference into the recipe is resolved, with its type", "a: ${policy.tokens}\n", "x: 1\na: 8\n", ""},
		{"a string around a reference too", "a: say ${policy.name}!\n", "x: 1\na: say m!\n", ""},
		{"an item of a list too", "a: [b, '${policy.name}']\n", "x: 1\na:\n  - b\n  - m\n", ""},
		{"a whole container too", "a: ${policy.list}\n", "x: 1\na:\n  - a\n  - b\n", ""},
		{"Gym's own interpolation stays", "a: ${policy_base_url}\n", "x: 1\na: ${policy_base_url}\n", ""},
		{"Gym's own interpolation in a list stays", "a: ['${policy_model_name}']\n", "x: 1\na:\n  - ${policy_model_name}\n", ""},
		{"an escape stays an escape", `a: 'say \${x}'` + "\n", `x: 1` + "\n" + `a: say \${x}` + "\n", ""},
		{"a dollar is no reference", "a: $x {y} $\n", "x: 1\na: $x {y} $\n", ""},
		{"a key that is not there is dropped", "a: ${nope}\nb: 2\n", "x: 1\nb: 2\n", `a = "${nope}": no such key in the recipe`},
		{"one in a string is named", "a: see ${nope} twice\n", "x: 1\n", `a = "see ${nope} twice": ${nope}: no such key in the recipe`},
		{"an item of a list is dropped alone", "a: [1, '${nope}', 3]\n", "x: 1\na:\n  - 1\n  - 3\n", `a[1] = "${nope}": no such key in the recipe`},
		{"what is left empty stays", "a: {b: '${nope}'}\n", "x: 1\na: {}\n", `a.b = "${nope}": no such key in the recipe`},
		{"a ??? is dropped", "a:\n  b: ???\n", "x: 1\na: {}\n", `a.b = "???": its value is ???, which somebody else has to provide`},
		{"a ??? of the trainer's is dropped", "a: ${policy.judge}\n", "x: 1\n", `a = "${policy.judge}": its value is ???, which somebody else has to provide`},
		{"a ??? that the server sets stays", "policy_model_name: ???\nhead_server:\n  port: ???\n", "x: 1\npolicy_model_name: ???\nhead_server:\n  port: ???\n", ""},
		{"a circle is dropped", "a: ${.b}\nb: ${.a}\n", "x: 1\n", "a = \"${.b}\": ${.a}: the references run in a circle: env.nemo_gym.a -> env.nemo_gym.b -> env.nemo_gym.a\n" +
			"b = \"${.a}\": ${.b}: the references run in a circle: env.nemo_gym.b -> env.nemo_gym.a -> env.nemo_gym.b"},
		{"a mapping within itself is dropped", "a: {b: '${..a}'}\n", "x: 1\na: {}\n", `a.b = "${..a}": it refers to what it is a part of`},
		{
			"two mappings within each other are dropped once", "a: {b: '${..c}'}\nc: {d: '${..a}'}\n", "x: 1\na:\n  b: {}\nc:\n  d: {}\n",
			"a.b.d = \"${..a}\": the references run in a circle: env.nemo_gym.a -> env.nemo_gym.c -> env.nemo_gym.a\n" +
				"c.d.b = \"${..c}\": the references run in a circle: env.nemo_gym.c -> env.nemo_gym.a -> env.nemo_gym.c",
		},
		{"a path through a scalar is dropped", "a: ${policy.name.x}\n", "x: 1\n", `a = "${policy.name.x}": it leads through a value that is no container: policy.name is a string`},
		{"an index that is too large is dropped", "a: ${policy.list[2]}\n", "x: 1\n", `a = "${policy.list[2]}": no such key in the recipe: the list has 2 items`},
		{"an index that is none is dropped", "a: ${policy.list.x}\n", "x: 1\n", `a = "${policy.list.x}": "x" is no index of a list`},
		{"too many dots are dropped", "a: ${....x}\n", "x: 1\n", `a = "${....x}": it has more dots than there are levels`},
		{"a resolver that nobody has is dropped", "a: ${now:x}\n", "x: 1\n", `a = "${now:x}": there is no resolver "now" in OmegaConf, NeMo-RL or Gym`},
		{"a variable that is not set is dropped", "a: ${oc.env:NOPE}\n", "x: 1\n", `a = "${oc.env:NOPE}": the environment has no variable NOPE`},
		{"a variable with a default is not", "a: ${oc.env:NOPE,5}\n", "x: 1\na: '5'\n", ""},
		{"bad arithmetic is dropped", "a: ${mul:x,y}\n", "x: 1\n", `a = "${mul:x,y}": cannot multiply a string and a string`},
		{"arithmetic with Gym's values is dropped", "a: ${add:${policy_model_name},x}\n", "x: 1\n", `a = "${add:${policy_model_name},x}": an argument is known to Gym alone, and Gym has no resolver "add"`},
		{"a key that only Gym knows is dropped", "a: ${policy.${policy_model_name}}\n", "x: 1\n", `a = "${policy.${policy_model_name}}": a key must be a string, and ${policy_model_name} is known to Gym alone (${policy_model_name})`},
		{"what is no interpolation is dropped", "a: ${\n", "x: 1\n", `a = "${": this is no interpolation that OmegaConf reads: it ends where the rest of a path like a.b[0] and } is missing`},
		{"a shell's default is dropped", "a: '${X:-y}'\nb: '${{ x }}'\n", "x: 1\n", "a = \"${X:-y}\": there is no resolver \"X\" in OmegaConf, NeMo-RL or Gym\n" +
			`b = "${{ x }}": this is no interpolation that OmegaConf reads: "{ x }}" at character 3 where a key belongs`},
	} {
		result, err := extractText(t, one.section, Options{Env: lookUpOracleEnv})
		require.NoError(t, err, one.name)
		var written bytes.Buffer
		require.NoError(t, result.WriteYAML(&written), one.name)
		require.Equal(t, one.written, written.String(), one.name)
		var dropped []string
		for _, d := range result.Dropped {
			dropped = append(dropped, d.String())
		}
		require.Equal(t, one.dropped, strings.Join(dropped, "\n"), one.name)
	}
}

func TestFewerThanOneAttemptIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "-1", "0.5", "1.0", "null", "true", "'3'", "${policy.name}", "[1]"} {
		_, err := extractText(t, nanAttempts+": "+value+"\n", Options{})
		require.ErrorContains(t, err, "env.nemo_gym.rollout_max_attempts_to_avoid_lp_nan is ", value)
		require.ErrorContains(t, err, "at least 1", value)
	}
	for _, value := range []string{"1", "16", "${policy.tokens}"} {
		_, err := extractText(t, nanAttempts+": "+value+"\n", Options{})
		require.NoError(t, err, value)
	}
}

func TestG5GymsServersGetAFixedRangeOfPorts(t *testing.T) {
	t.Parallel()
	ports, err := ParsePortRange("15000-15999")
	require.NoError(t, err)
	for section, want := range map[string]string{
		"a: 1\n": "x: 1\na: 1\nport_range_low: 15000\nport_range_high: 15999\n",
		"port_range_high: 9\na: 1\nport_range_low: 7\n": "x: 1\nport_range_high: 15999\na: 1\nport_range_low: 15000\n",
	} {
		result, err := extractText(t, section, Options{Ports: ports})
		require.NoError(t, err)
		var written bytes.Buffer
		require.NoError(t, result.WriteYAML(&written))
		require.Equal(t, want, written.String())
	}
	for _, bad := range []string{"", "15000", "15000-", "-15000", "a-b", "15000-15048", "15999-15000", "80-2000", "60000-70000", "15000-15999-1"} {
		_, err := ParsePortRange(bad)
		require.Error(t, err, bad)
	}
	require.Equal(t, "15000-15999", ports.String())
}

func TestWhatIsNoRecipeIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "no env.nemo_gym: it is no recipe that uses NeMo Gym",
		"env: {}\n":                         "no env.nemo_gym: it is no recipe",
		"config_paths: []\n":                "it looks like Gym's part of a recipe already",
		"env: {nemo_gym: 5}\n":              "env.nemo_gym is an int, not a mapping",
		"env: {nemo_gym: [a]}\n":            "env.nemo_gym is a list, not a mapping",
		"env:\n  nemo_gym: ???\n":           "env.nemo_gym: its value is ???",
		"env: {nemo_gym: '${x}'}\n":         "env.nemo_gym: ${x}: no such key in the recipe",
		"[1]\n":                             "a recipe is a mapping",
		"a: [\n":                            "line 1: did not find expected node content",
		"defaults: {a: b}\n":                "defaults: a path or a list of paths is meant, not a mapping",
		"defaults: [5]\n":                   "defaults: 5 is no path of a file",
		"defaults: ${x}.yaml\n":             "defaults: ${x}.yaml cannot refer to other values",
		"a: &a [*a]\n":                      "line 1: *a holds itself",
		"a: &a {<<: *a}\n":                  "line 1: a merge of itself",
		"a: !!python/name:os.system\n":      "line 1: the tag",
		"a: 1\n---\nb: 2\n":                 "line 2: a second YAML document; a recipe is one",
		strings.Repeat("a", 3) + "\n: [b\n": "line ",
	} {
		_, err := Extract(writeFiles(t, map[string]string{"recipe.yaml": text}), Options{})
		require.ErrorContains(t, err, want, text)
		var file *FileError
		require.ErrorAs(t, err, &file, text)
	}
}

// TestAnchorsCannotBlowUpAFile: nine levels of nine are more values than any recipe has.
func TestAnchorsCannotBlowUpAFile(t *testing.T) {
	t.Parallel()
	text := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for level := range 8 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", level+1, level+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", level), 9), ","))
	}
	_, err := parseYAML([]byte(text))
	require.ErrorContains(t, err, "more than 1000000 values")
}

func TestReferencesCannotMultiplyForEver(t *testing.T) {
	t.Parallel()
	for _, item := range []string{"'${.a%d}${.a%d}'", "{x: '${..a%d}', y: '${..a%d}'}"} {
		section := "b:\n  a0: x\n"
		for level := range 40 {
			section += fmt.Sprintf("  a%d: %s\n", level+1, fmt.Sprintf(item, level, level))
		}
		_, err := extractText(t, section, Options{})
		require.ErrorContains(t, err, "env.nemo_gym: "+errEndless.Error(), item)
	}
}

func TestInputsAreOnlyReadAndListed(t *testing.T) {
	t.Parallel()
	file := writeFiles(t, map[string]string{"recipe.yaml": "defaults: [base/a.yaml, base/b.yaml]\nenv: {nemo_gym: {x: 1}}\n", "base/a.yaml": "defaults: b.yaml\n", "base/b.yaml": "a: 1\n"})
	require.NoError(t, os.Chmod(file, 0o400))
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	result, err := Extract(file, Options{Overrides: []string{"a=2"}})
	require.NoError(t, err)
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	dir := filepath.Dir(file)
	require.Equal(t, []string{file, filepath.Join(dir, "base/a.yaml"), filepath.Join(dir, "base/b.yaml")}, result.Files)
}

// TestAStandaloneConfigIsItsOwnSection: what NeMo-RL ships for its standalone server is read without loss as a section.
func TestAStandaloneConfigIsItsOwnSection(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../shared/nemo-rl-examples/gym_standalone_config.yaml")
	if err != nil {
		t.Skipf("skipped: NeMo-RL's examples are not here: %v", err)
	}
	want, err := parseYAML(data)
	require.NoError(t, err)
	recipe := "env:\n  nemo_gym:\n"
	for line := range strings.Lines(string(data)) {
		recipe += "    " + line
	}
	result, err := Extract(writeFiles(t, map[string]string{"recipe.yaml": recipe}), Options{})
	require.NoError(t, err)
	require.Empty(t, result.Dropped)
	require.Equal(t, typedValue(t, want), typedValue(t, result.section))
}
