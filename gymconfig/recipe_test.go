package gymconfig

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeFiles puts files into a folder of the test, and returns the path of the one that is called recipe.yaml.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return filepath.Join(dir, "recipe.yaml")
}

// inherited are recipes that build on others.
var inherited = map[string]map[string]string{
	"a parent by name": {
		"recipe.yaml": "defaults: parent.yaml\nb: 2\nc: {x: 9}\n",
		"parent.yaml": "a: 1\nb: 1\nc: {x: 1, y: [1, 2]}\nd: ${b}\n",
	},
	"parents in a list, of which the last counts most": {
		"recipe.yaml": "defaults: [one.yaml, sub/two.yaml]\ne: 5\n",
		"one.yaml":    "a: 1\nb: {x: 1}\nl: [1, 2, 3]\n", "sub/two.yaml": "b: {y: 2}\nl: [4]\na: 2\n",
	},
	"a grandparent in another folder": {
		"recipe.yaml":  "defaults: sub/one.yaml\nc: 3\n",
		"sub/one.yaml": "defaults: ../two.yaml\nb: 2\n", "two.yaml": "a: 1\nb: 1\nc: 1\n",
	},
	"lists replace, and scalars replace containers and the other way round": {
		"recipe.yaml": "defaults: p.yaml\na: [3]\nb: 1\nc: {x: 1}\nd: null\ne: {y: 1}\n", "p.yaml": "a: [1, 2]\nb: {x: 1}\nc: 1\nd: {x: 1}\ne: null\n",
	},
	"??? replaces nothing": {
		"recipe.yaml": "defaults: p.yaml\na: ???\nb: ???\nc: {x: '???', y: 2}\nd: ???\n", "p.yaml": "a: 1\nb: {x: 1}\nc: {x: 1}\n",
	},
	"a container that refers to another is copied before it is merged into": {
		"recipe.yaml": "defaults: p.yaml\nb: {y: 9}\nl: [3]\nm: {z: 1}\n", "p.yaml": "a: {x: 1, y: 2}\nb: ${a}\nl: ${list}\nlist: [1]\nm: ${a.x}\n",
	},
	"a reference that leads nowhere is replaced": {
		"recipe.yaml": "defaults: p.yaml\nb: {y: 9}\n", "p.yaml": "b: ${nowhere}\n",
	},
	"_override_ replaces a section of the top": {
		"recipe.yaml": "defaults: p.yaml\na: {_override_: true, y: 2}\nb: {_override_: false, y: 2}\nc: {d: {_override_: true, y: 2}}\n",
		"p.yaml":      "a: {x: 1}\nb: {x: 1}\nc: {d: {x: 1}}\nz: 1\n",
	},
	"_override_ in a parent, and null, and an empty file": {
		"recipe.yaml": "defaults: [p.yaml, q.yaml, empty.yaml]\nb: null\n", "p.yaml": "a: {x: 1}\n", "q.yaml": "a: {_override_: 1, y: 1}\nb: {c: 1}\n", "empty.yaml": "",
	},
	"an empty list of parents": {"recipe.yaml": "defaults: []\na: 1\n"},
	"relative references keep their place": {
		"recipe.yaml": "defaults: p.yaml\na: {b: {c: '${.d}', e: '${..f}'}}\n", "p.yaml": "a: {b: {d: 1}, f: 2}\n",
	},
}

func (python oracle) mergesRecipes(t *testing.T) {
	names := slices.Sorted(maps.Keys(inherited))
	var questions []question
	for _, name := range names {
		questions = append(questions, question{File: writeFiles(t, inherited[name])})
	}
	for i, want := range python.ask(t, questions) {
		root, err := (&loader{}).recipe(questions[i].File)
		require.NoError(t, err, names[i])
		require.Empty(t, want.Error, names[i])
		require.Equal(t, want, verdictOf(t, root, nil), names[i])
	}
}

// mergesRealRecipes compares every YAML file below TANDEM_RECIPES, e.g. the examples of a checkout of NeMo-RL. All keys count, not
// only Gym's. A file that OmegaConf's grammar refuses is no recipe.
func (python oracle) mergesRealRecipes(t *testing.T) {
	folder := os.Getenv("TANDEM_RECIPES")
	if folder == "" {
		t.Skip("skipped: TANDEM_RECIPES names no folder with recipes")
	}
	var questions []question
	require.NoError(t, filepath.WalkDir(folder, func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".yaml") {
			questions = append(questions, question{File: file})
		}
		return err
	}))
	same := 0
	for i, want := range python.ask(t, questions) {
		if strings.HasPrefix(want.Error, "GrammarParseError") {
			continue
		}
		var got verdict
		root, err := (&loader{}).recipe(questions[i].File)
		if err == nil {
			got = verdictOf(t, root, nil)
		}
		require.Equal(t, want.Error != "", err != nil, "%s: %s, %v", questions[i].File, want.Error, err)
		require.Equal(t, want.Keys, got.Keys, questions[i].File)
		same++
	}
	t.Logf("%d of %d files are the same, whole", same, len(questions))
}

// overridable is what the overrides below change.
const overridable = "a: 1\nb: {c: 2, d: {e: text}}\nl: [1, {x: 1}, 3]\nn: null\nm: ???\nr: ${a}\nq: {z: '${b}'}\n"

var overrides = [][]string{
	{"a=5"},
	{"a=5.5"},
	{"a=text"},
	{"a="},
	{"a=null"},
	{"a=True"},
	{"a=1e-3"},
	{"a='1'"},
	{`a="x y"`},
	{"a=x y"},
	{"a=[1,2,x]"},
	{"a={x:1,y:[2]}"},
	{"a=${b.c}"},
	{"a=x${b.c}y"},
	{"a='${b.c} z'"},
	{`a='\${b}'`},
	{`a='it\'s'`},
	{`a=\[x\]`},
	{`a=a\,b`},
	{"a=http://h:80/x"},
	{"a=007"},
	{"a=1_000"},
	{"a=/x/y-z.jsonl"},
	{"b.c=7"},
	{"b.d.e=7"},
	{"b.d={f:1}"},
	{"b={c:9}"},
	{"+b={g:9}"},
	{"++b={c:8,h:9}"},
	{"b.d=5"},
	{"z=1"},
	{"+z=1"},
	{"++z=1"},
	{"+a=1"},
	{"++a=2"},
	{"+x.y.z=1"},
	{"x.y=1"},
	{"++x.y=[1]"},
	{"b.z=1"},
	{"+b.z=1"},
	{"~a"},
	{"~b.c"},
	{"~b"},
	{"~z"},
	{"~b.z"},
	{"l.0=9"},
	{"l.1.x=9"},
	{"l.9=1"},
	{"l=[9]"},
	{"n=5"},
	{"+n=5"},
	{"m=5"},
	{"n.x=1"},
	{"a=1", "a=2", "~n"},
	{"a=1,2"},
	{"a"},
	{"=1"},
	{"a b=1"},
	{"a=[1"},
	{"a=x=y"},
	{"a='x"},
	{"a=é"},
	{"+"},
	{"~"},
	{"a=${"},
	{"r=7"},
	{"b.c= 5 "},
	{"a=[]"},
	{"a={}"},
	{"a=''"},
	{"a=inf"},
	{"a=???"},
	{"a=-1"},
	{"a=${oc.env:TANDEM_TEST}"},
	{"q.z.c=77"},
	{"++q.z.new=7"},
	{"a={x: ${b.c}, y: 'k'}"},
	{"a=[ 1 , 'b' ]"},
	{"a=a:b"},
	{"a=$x"},
	{"a=50%"},
	{"a=a\\b"},
	{"a=a\\\\b"},
}

func (python oracle) overrides(t *testing.T) {
	file := writeFiles(t, map[string]string{"recipe.yaml": overridable})
	var questions []question
	for _, one := range overrides {
		questions = append(questions, question{File: file, Overrides: one})
	}
	for i, want := range python.ask(t, questions) {
		got := overridden(t, file, overrides[i])
		want.Error, got.Error = errorOrNot(want.Error), errorOrNot(got.Error)
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%q\nHydra: %v\nhere:  %v", overrides[i], want, got)
		}
	}
}

func overridden(t *testing.T, file string, overrides []string) verdict {
	t.Helper()
	root, err := (&loader{}).recipe(file)
	require.NoError(t, err)
	for _, one := range overrides {
		if err := applyOverride(root, one); err != nil {
			return verdict{Error: err.Error()}
		}
	}
	return verdictOf(t, root, nil)
}

// hardStrings are strings that writers of YAML and JSON get wrong.
var hardStrings = []string{
	"", " ", "  x", "x ", "\n", "\n\n", "a\n", "a\n\n", "a\nb", "a\n  b\n", " a\nb", "a \nb", "\ta\nb", "a\n\tb", "\ta", "a\tb", "a\rb", "\x00", "\x1b[0m", "\x7f", "\u0085", "\u00a0", "\u2028", "\ufeffx", "\U0001f600", "é", "\ufffd",
	"- a", "-", "?", "? a", ":", ": a", "a: b", "a:", "a #b", "#", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "'", "\"", "it's", "{a}", "[a]", "{", ",", "---", "...", "--- a", "null", "Null", "~", "yes", "y", "0x1F", "1_000", "1:30", "1e3", ".5", "=", "<<", "2020-01-01", "\\", "\\n",
	"${", "${b}", "\\${b}", "\\\\${b}", "x ${b} \\", "$", "$${b}", "${b}${b}", "a\n${b}\n", "{{ x }}", "%(x)s",
	strings.Repeat("word ", 60) + "end", strings.Repeat("w", 300), strings.Repeat("a: b # ", 40), strings.Repeat("é ", 100) + "\n" + strings.Repeat("x ", 100) + "y",
}

// readsBack lets OmegaConf read what was written, and compares it with what was meant.
func (python oracle) readsBack(t *testing.T) {
	section := newMapping()
	texts := slices.Concat(hardStrings, scalars, references, arguments)
	for i, text := range texts {
		section.set(fmt.Sprintf("k%d", i), newScalar(escape(text, false)))
		section.set("key "+text, newScalar(nil))
	}
	numbers, err := parseYAML([]byte("n: [1, -1, 12345678901234567890123, 1.0, -0.0, 1e16, 1e-5, 1.5e300, true, false, null, [], {}, [[]], [{}], {a: {}}]\n"))
	require.NoError(t, err)
	section.set("numbers", numbers.get("n"))
	for name, write := range map[string]func(*Result, io.Writer) error{"yaml": (*Result).WriteYAML, "json": (*Result).WriteJSON} {
		var written bytes.Buffer
		require.NoError(t, write(&Result{section: section}, &written), name)
		got := python.ask(t, []question{{YAML: written.String()}})[0]
		require.Empty(t, got.Error, name)
		require.Equal(t, typedValue(t, numbers.get("n")), got.Keys["numbers"], name)
		for i, text := range texts {
			require.Equal(t, []any{"str", text}, got.Keys[fmt.Sprintf("k%d", i)], "%s: %q", name, text)
			require.Contains(t, got.Keys, "key "+text, name)
		}
	}
}

// gymsReferences refer to what Gym knows and the recipe does not.
var gymsReferences = []struct{ name, value, written string }{
	{"as a whole", "${policy_base_url}", "${policy_base_url}"},
	{"in a string", "nvinf/${policy_model_name}", "nvinf/${policy_model_name}"},
	{"by a path", "${head_server.port}", "${head_server.port}"},
	{"by a path in the recipe", "${env.nemo_gym.policy_model_name}", "${policy_model_name}"},
	{"relative to the section", "${..policy_model_name}", "${policy_model_name}"},
	{"with a value of the recipe", "${policy.model_name} on ${policy_model_name}", "Qwen/Qwen3 on ${policy_model_name}"},
	{"through another value", "see ${..other}", "see at ${policy_base_url}"},
	{"with an escape", `\${x} ${policy_model_name} \\\${y}`, `\${x} ${policy_model_name} \\\${y}`},
	{"behind a backslash", `a\\${policy_model_name}\`, `a\\${policy_model_name}\`},
	{"with a value that has a reference's look", "${oc.env:TANDEM_REFERENCE}-${policy_model_name}", `\${b}-${policy_model_name}`},
	{"as a default", "${oc.select:judge_model_name,${policy_model_name}}", "${oc.select:'judge_model_name',${policy_model_name}}"},
	{"as a default with a value of the recipe", "${oc.env:NOPE,'${policy.model_name} it\\'s ${policy_model_name}'}", `${oc.env:'NOPE','Qwen/Qwen3 it\'s ${policy_model_name}'}`},
	{"in a list that is an argument", "${oc.create:[1,true,null,a b,${policy_model_name},{k: 1.5}]}", "${oc.create:[1,True,null,'a b',${policy_model_name},{k: 1.5}]}"},
	{"a default that is not needed", "${oc.select:judge,${policy_model_name}}", "a judge"},
	{"a directive", "${inherit_from:simple_agent.x}", "${inherit_from:simple_agent.x}"},
	{"another directive", "${copy:simple_agent}", "${copy:simple_agent}"},
	{"a key of the section", "${other}", "at ${policy_base_url}"},
	{"a key that is kept by wish", "${judge_api_key}", "${judge_api_key}"},
}

const gymsRecipe = "b: 3\njudge: a judge\npolicy: {model_name: Qwen/Qwen3}\nenv:\n  nemo_gym:\n    other: at ${policy_base_url}\n    in: {r: %s}\n"

func TestWhatOnlyGymKnowsStaysForGym(t *testing.T) {
	t.Parallel()
	for _, one := range gymsReferences {
		file := writeFiles(t, map[string]string{"recipe.yaml": fmt.Sprintf(gymsRecipe, yamlValue(one.value))})
		result, err := Extract(file, Options{Env: lookUpOracleEnv, Keep: []string{"judge_api_key"}})
		require.NoError(t, err, one.name)
		require.Empty(t, result.Dropped, one.name)
		require.Equal(t, one.written, result.section.get("in").get("r").scalar, one.name)
	}
}

// gymResolves lets OmegaConf resolve what was left to it, with Gym's values in place.
func (python oracle) gymResolves(t *testing.T) {
	gym := map[string]any{"policy_base_url": []string{"http://a/v1"}, "policy_model_name": "model", "head_server": map[string]any{"port": 9090}, "judge_api_key": "key"}
	wanted := map[string]any{"env": map[string]any{"nemo_gym": gym}, "other": "${env.nemo_gym.other}"}
	maps.Copy(wanted, gym)
	var names []string
	var questions []question
	for _, one := range gymsReferences {
		if strings.Contains(one.name, "directive") {
			continue // Gym's own work
		}
		file := writeFiles(t, map[string]string{"recipe.yaml": fmt.Sprintf(gymsRecipe, yamlValue(one.value))})
		result, err := Extract(file, Options{Env: lookUpOracleEnv, Keep: []string{"judge_api_key"}})
		require.NoError(t, err, one.name)
		var written bytes.Buffer
		require.NoError(t, result.WriteYAML(&written))
		whole := strings.Replace(fmt.Sprintf(gymsRecipe, yamlValue(one.value)), "env:\n", "r: ${env.nemo_gym.in.r}\nenv:\n", 1)
		names = append(names, one.name)
		questions = append(questions, question{YAML: written.String() + "r: ${in.r}\n", Set: gym}, question{YAML: whole, Set: wanted})
	}
	answers := python.ask(t, questions)
	for i, name := range names {
		require.NotNil(t, answers[2*i].Keys["r"], name)
		require.Equal(t, answers[2*i+1].Keys["r"], answers[2*i].Keys["r"], name)
	}
}
