package gymconfig

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scalars are plain scalars of YAML that some reader takes for something other than a string.
var scalars = []string{
	"yes", "no", "on", "off", "Yes", "ON", "y", "n", "Y", "yEs", "true", "False", "TRUE", "tRue", "~", "null", "Null", "nUll", "",
	"0", "1", "-1", "+1", "1_000", "1__0", "_1", "1_", "0777", "0o17", "08", "0_7", "0x1F", "0xfg", "0X1F", "0b11", "0b2", "-0x1f", "+0b1",
	"1:30", "-1:30", "1:60", "01:30", "1:30:20", "1:30.5", "1.5:30.2", "190:20:30", "1:2:3.", "0:30",
	"1.", ".5", "-.5", "+.5", "1.5", "1_0.5_0", "1e3", "1E3", "1e-3", "1e+3", "1.e3", "1.5e3", "1.5e+3", "1.5e-30", "1.5e400", "-1e400", ".5e3", ".5e+3",
	"1_0e1_0", "1_0e10", "1__0e10", "e3", "1e", "1e3.5", ".inf", "-.inf", "+.Inf", ".INF", ".iNf", ".nan", ".NaN", "-.nan", "inf", "nan", ".", "-", "..", "._1", ".1_", "1._", "1._5",
	"2020-01-01", "2020-01-01T00:00:00Z", "12345678901234567890123", "-0", "-0.0", "0.0", "0.1", "100000000000000000000.0", "1e16", "1e15", "0.0001", "0.00001",
	"'1'", `"yes"`, "!!str 1", "!!int '0x10'", "!!float 3", "!!float '1e3'", "!!bool 'on'", "!!null ''", "!!int abc", "!foo 1", "=", "<<", "a=b", "#a", "a #b", "a#b",
	"|-\n  1", ">-\n  yes\n  no", "é", "日本", "[1, 2.0, yes]", "{a: 1, yes: 2, 3: 4, 1.5: x}", "[]", "{}", "[[], {}]", "- a\n- b",
}

// arguments are what may stand behind the colon of a resolver.
var arguments = []string{
	"", " ", "a", "a b", " a ", "1", "01", "1_000", "1__0", "1.", ".5", "1.5.2", "10.0.0.1", "1e3", "1e-6", "1E+5", "-1", "+1", "- 1", "--1", "inf", "-inf", "nan", "NaN",
	"true", "True", "tRuE", "trueish", "null", "NULL", "nullable", "a,b", "a, b", "a,", ",", ",,", ",a", "'a'", `"a"`, "'a b'", "'a' ", "'a'b", "a'b'", "''", `""`,
	`'it\'s'`, `"say \"hi\""`, `'a\\'`, `'a\\\\'`, `'a\b'`, `'\${b}'`, `'\\${b}'`, `'${b}'`, "'x ${b} y'", `'${b}${a}'`, `'${'`, "a:b", "a : b", "http://h:80/x", ":", "a=b", `a\=b`, `a\,b`, `a\ b`, `\\`, `\a`, `a\\b`, `\[`, `\:`, `\{\}`,
	"/a/b-c", "a.b", "$x", "$", "a$b", "50%", "a@b", "a*b", "a?", "a|b", "a+b", "a&b", "a#b", "a!b", "~", "a;b", "<", "é", "[", "[]", "[1,2]", "[ 1 , a ]", "[1,]", "[,]", "[[1],[2]]", "[1", "1]",
	"{}", "{a:1}", "{ a : 1 , b: [x] }", "{a}", "{a:}", "{a:b:c}", "{1:2}", "{true:x}", "{a b: c}", "{'a':1}", "${b}", "${b}x", "${b} ${b}", "${list}", "${map}", "${.b}", "${..b}", "a ${b}", "[${b},x]", "{k: ${b}}",
}

// references are whole values.
var references = []string{
	"${a}", "${b}", "${list}", "${map}", "${map.x}", "${map[x]}", "${map.inner.deep}", "${map[inner].deep}", "${map.inner[deep]}", "${[map].x}", "${[map][x]}", "${list.0}", "${list[0]}", "${list[1].k}", "${list.1.k}",
	"${list[9]}", "${list[-1]}", "${list.x}", "${list[01]}", "${list.+1}", "${none}", "${none.x}", "${missing}", "${b.x}", "${nope}", "${map.nope}", "${.b}", "${..b}", "${...b}", "${.map.x}", "${.[b]}", "${map..x}", "${map.}", "${.}", "${}", "${ }", "${", "${b", "$b", "$${b}",
	"${ b }", "${b }", "${ b}", "${\tb}", "${b }x", "x${b}", "${b}${a}", "${b} ${list}", "x ${map}", "${float}", "x ${float}", "${bool} ${none}", "${${name}}", "${map.${key}}", "${map[${key}]}", "${${name}.x}", "${map.${b}}", "${a${b}}", "${map.${path}}", "${${path2}}",
	`\${b}`, `\\${b}`, `\\\${b}`, `a\b ${b}`, `a\\b ${b}`, `a\\`, `${b}\\`, `x \${b} ${b}`, `\\\\${b}`, `$\${b}`, "${self}", "${circle1}", "${part.x}", "${container_ref.x}", "${container_ref}", "x ${container_ref}", "${deepref}", "${mixed-key}", "${mixed-key.a/b}", "${1}", "${1.x}", "${$dollar}", "${é}", "${a b}", "${a:b}", "${a.b:c}", "${nope:1}", "${oc.nope:1}", "${.oc:1}",
	"${oc.env:TANDEM_TEST}", "${oc.env:TANDEM_NUMBER}", "${oc.env:TANDEM_EMPTY}", "${oc.env:TANDEM_REFERENCE}", "x ${oc.env:TANDEM_REFERENCE}", "${oc.decode:${oc.env:TANDEM_NUMBER}}", "${oc.decode:${oc.env:TANDEM_REFERENCE}}", "${oc.env:TANDEM_TEST,x}", "${oc.env:NOPE,null}", "${oc.env:NOPE,1,2}", "${oc.env:}", "${oc.env}", "${oc.env:1}", "${oc.env: TANDEM_TEST }", "${oc.env:'TANDEM_TEST'}", "${oc.${part2}:TANDEM_TEST}", "${oc.env:${envname}}",
	"${oc.select:b}", "${oc.select:nope}", "${oc.select:nope,7}", "${oc.select:missing,7}", "${oc.select:b.x,7}", "${oc.select:none,7}", "${oc.select:.b}", "${oc.select:map}", "${oc.select:list.9,x}", "${oc.select:list.x,x}", "${oc.select:circle1,x}", "${oc.select:badref,x}", "${oc.select:none.x,7}",
	"${oc.dict.keys:map}", "${oc.dict.values:map}", "${oc.dict.keys:list}", "${oc.dict.keys:nope}", "${oc.dict.keys:container_ref}", "${oc.dict.values:.map}", "${oc.dict.keys:.map}", "x ${oc.dict.keys:map}", "${oc.create:{a: 1, b: [x]}}", "${oc.create:[1,2]}", "${oc.create:${map}}", "${oc.create:5}", "${oc.create:null}", "${oc.deprecated:b}", "${oc.deprecated:nope}",
	"${oc.decode:null}", "${oc.decode:'null'}", "${oc.decode:'[1, a, 2.5]'}", "${oc.decode:'{a: 1}'}", "${oc.decode:5}", "${oc.decode:''}", "${oc.decode:'a b'}", "${oc.decode:'a,b'}",
	"${add:1,2}", "${add:1,2.5}", "${add:a,b}", "${add:a,1}", "${add:true,1}", "${add:[1],[2,x]}", "${add:${list},${list}}", "${add:${list},[1]}", "${add:[1],${list}}", "${add:null,1}", "${add:1}", "${add:1,2,3}", "${mul:2,3}", "${mul:2,1.5}", "${mul:ab,2}", "${mul:2,ab}", "${mul:ab,-1}", "${mul:true,true}", "${mul:99999999999,99999999999}", "${mul:a,b}", "${mul:${b},${mul:2,${b}}}", "${mul: ${b} , 2}",
	"${div:4,2}", "${div:1,3}", "${div:1,0}", "${div:7,2.0}", "${div:a,2}", "${div:true,2}", "${max:1,2}", "${max:2,1}", "${max:1,1.0}", "${max:1.0,1}", "${max:nan,1}", "${max:1,nan}", "${max:a,b}", "${max:a,1}", "${max:true,2}", "${max:2,true}", "${max:null,1}", "x ${div:4,2}", "${div:1e300,1e-300}", "${mul:1e300,1e300}", "${add:'$','{b}'}", "${add:'$','{b}'} x", "${oc.select:nope,['a' ,${${path2}}]}", "${oc.select:nope,{k: ${map.inner}}}", "${oc.create:[${map.inner}]}", "${add:[${map.inner}],[1]}", "${add:[${map.inner}],${list}}", "${mul:[${map.inner}],2}", "${list2[0]}", "${transient.0}", "${transient}", "x ${transient}",
	"${add:${b}, ${add:${b}, ${add:${b}, 1}}}", "${max:${b}, ${mul:2, 3}}\n", "  ${b}  ", "a\n${b}", "${oc.env:NOPE,'${map.x}-${b}'}", "${oc.env:NOPE,${map}}", "${oc.env:NOPE,[${b}]}", "{${b}}", "[${b}]", "${map}.x",
}

// base is what the references refer to.
const base = `
a: text
b: 3
float: 1.0
bool: true
none: null
missing: ???
name: map
key: x
path: inner.deep
path2: map.inner
part2: env
envname: TANDEM_TEST
mixed-key: {a/b: 1}
1: one
$dollar: 5
é: 6
list: [1, {k: v}, '${b}']
list2: ['${list.0}', '${..b}', '${.0}']
map: {x: 1, inner: {deep: 2.5, up: '${..x}', top: '${b}'}, quote: it's}
self: ${self}
circle1: ${circle2}
circle2: ${circle1}
part: {x: '${part}'}
badref: ${nowhere}
container_ref: ${map}
deepref: {a: {b: {c: '${....b}', d: '${...e}', f: '${.c}'}, }, e: end}
transient: ${add:[1],[x]}
`

// yamlValue writes a text as a YAML value.
func yamlValue(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, "'", "''"), "\n", "\n\n ") + "'"
}

func (python oracle) requireSame(t *testing.T, with string, texts []string, only ...string) {
	t.Helper()
	questions := make([]question, 0, len(texts))
	for _, text := range texts {
		questions = append(questions, question{YAML: text, Base: with, Only: only})
	}
	refused, resolved, different := 0, 0, 0
	for i, want := range python.ask(t, questions) {
		got := ownVerdict(t, with+texts[i], only)
		if strings.HasPrefix(want.Error, "GrammarParseError") { // it refuses the whole file; here it is one value
			require.Contains(t, slices.Collect(maps.Values(got.Keys)), nil, texts[i])
			refused++
			continue
		}
		want.Error, got.Error = errorOrNot(want.Error), errorOrNot(got.Error)
		for _, value := range want.Keys {
			if value != nil {
				resolved++
			}
		}
		if !reflect.DeepEqual(want, got) {
			different++
			t.Errorf("%s\nOmegaConf: %v\nhere:      %v", texts[i], want, got)
		}
	}
	t.Logf("%d texts, %d refused by OmegaConf's grammar and here, %d values resolved, %d texts different", len(texts), refused, resolved, different)
}

func errorOrNot(message string) string {
	if message != "" {
		return "error"
	}
	return ""
}

func TestAsOmegaConf(t *testing.T) {
	t.Parallel()
	python := newOracle(t)
	t.Run("the oracle answers", python.answers)
	t.Run("kept answers are those of OmegaConf", python.keepsAnswers)
	t.Run("scalars are read as OmegaConf reads them", python.readsScalars)
	t.Run("references are resolved as OmegaConf resolves them", python.resolvesReferences)
	t.Run("generated references are resolved as OmegaConf resolves them", python.resolvesGenerated)
	t.Run("recipes are merged as OmegaConf merges them", python.mergesRecipes)
	t.Run("real recipes are read and merged as OmegaConf does it", python.mergesRealRecipes)
	t.Run("overrides are applied as Hydra applies them", python.overrides)
	t.Run("what is written is read as it was meant", python.readsBack)
	t.Run("Gym resolves what was left to it as it would have in the recipe", python.gymResolves)
}

func (python oracle) readsScalars(t *testing.T) {
	var texts []string
	for _, one := range scalars {
		value := " " + one
		if strings.HasPrefix(one, "- ") {
			value = "\n" + one
		}
		texts = append(texts, "r:"+value+"\n")
		if !strings.ContainsAny(one, "\n#") && one != "" && !strings.HasPrefix(one, "[") && !strings.HasPrefix(one, "{") {
			texts = append(texts, one+": v\n", "- "+one+"\n")
		}
	}
	texts = append(texts,
		"a: 1\na: 2\n", "1: a\n1: b\n", "a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: {l: 2, <<: *x}\ne: {<<: *x, k: 9}\n",
		"a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], w: 0}\nd: {<<: [*b, *a]}\n", "a: &a [1]\nb: *a\n", "a: {<<: 1}\n", "a: {<<: [1]}\n", "a: *nope\n",
		"", "# nothing\n", "---\na: 1\n", "--- {a: 1}\n...\n", "a: 1\n---\nb: 2\n", "5\n", "[1]\n", "a: b: c\n", "a: [1, 2\n", "a:\n- 1\n -2\n", "\ta: 1\n", "a: \"\\x41\\u00e9\\n\"\n",
		"? a\n: b\n", "? [a]\n: b\n", "a: !!set {x}\n", "a: !!map {x: 1}\n", "a: !!seq [1]\n", "a: !foo [1]\n", "a: !foo {x: 1}\n", "a: &x {b: &y {c: 1, <<: {d: 2}}}\ne: *y\n", "true: x\nyes: y\n", "a: {}\nb: []\nc:\nd: ''\n",
	)
	python.requireSame(t, "", texts)
}

func (python oracle) resolvesReferences(t *testing.T) {
	var texts []string
	for _, one := range references {
		texts = append(texts, "r: "+yamlValue(one)+"\n", "r: ["+yamlValue(one)+"]\n", "r: {b: 5, r: "+yamlValue(one)+"}\n")
	}
	for _, one := range arguments {
		texts = append(texts,
			"r: "+yamlValue("${oc.env:NOPE,"+one+"}")+"\n",
			"r: "+yamlValue("x ${oc.select:nope,"+one+"} y")+"\n",
			"r: "+yamlValue("${oc.create:["+one+"]}")+"\n",
			"r: "+yamlValue("${oc.create:{k: "+one+"}}")+"\n",
			"r: "+yamlValue("${max: "+one+" ,0}")+"\n",
			"r: "+yamlValue("${oc.decode:\""+strings.ReplaceAll(one, `"`, `\"`)+"\"}")+"\n")
	}
	python.requireSame(t, base, texts, "r")
	python.requireSame(t, "", []string{base})
}

// generatedTexts are few because OmegaConf takes some 20 ms for each.
const generatedTexts = 400

// generator writes random values out of the pieces above.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) value(depth int) string {
	var out strings.Builder
	for range 1 + g.IntN(3) {
		switch g.IntN(6) {
		case 0:
			out.WriteString(g.one("text", " ", `\`, `\\`, `\${`, "$", "{", "}", "'", `"`, ".", ":", "é", "1", "${", "\\\\\\${"))
		default:
			out.WriteString(g.reference(depth))
		}
	}
	return out.String()
}

func (g generator) reference(depth int) string {
	if depth <= 0 {
		return g.one(references...)
	}
	switch g.IntN(4) {
	case 0:
		return "${" + g.one("", ".", "..", "map.", "list.") + g.one("a", "b", "map", "list", "x", "0", "1", "inner", g.reference(depth-1)) + g.one("", ".x", "[x]", "[0]", "."+g.reference(0), "["+g.reference(0)+"]") + "}"
	case 1:
		return "${" + g.one("add", "mul", "div") + ":" + g.argument(depth-1) + g.one(",", " , ", ",  ") + g.argument(depth-1) + "}"
	case 2:
		return "${" + g.one("oc.env:TANDEM_TEST,", "oc.env:NOPE,", "oc.select:nope,", "oc.select:b,", "oc.decode:", "oc.create:") + g.argument(depth-1) + "}"
	default:
		return g.one(references...)
	}
}

func (g generator) argument(depth int) string {
	switch g.IntN(6) {
	case 0:
		return g.one("'", `"`) + g.value(depth-1) + g.one("'", `"`)
	case 1:
		return "[" + g.one(arguments...) + "," + g.reference(depth-1) + "]"
	case 2:
		return "{k: " + g.one(arguments...) + ", l: " + g.reference(depth-1) + "}"
	case 3:
		return g.reference(depth - 1)
	default:
		return g.one(arguments...)
	}
}

func (python oracle) resolvesGenerated(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	var texts []string
	for range generatedTexts {
		texts = append(texts, fmt.Sprintf("r: %s\ns: {x: 8, t: [%s]}\n", yamlValue(g.value(3)), yamlValue(g.value(2))))
	}
	python.requireSame(t, base, texts, "r", "s")
}

func (python oracle) answers(t *testing.T) {
	answers := python.ask(t, []question{{YAML: "a: 1\nb: ${a}\nc: ${nope}\n"}, {YAML: "a: 1\na: 2\n"}})
	require.Equal(t, verdict{Keys: map[string]any{"a": []any{"int", "1"}, "b": []any{"int", "1"}, "c": nil}}, answers[0])
	require.NotEmpty(t, answers[1].Error)
}
