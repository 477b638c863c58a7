package gymconfig

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
)

// answers is where the real OmegaConf's answers are kept, so that they count where there is no Python. They are written by
// `go test ./gymconfig -run TestAsOmegaConf/kept -update`.
const answers = "answers.jsonl"

// answer is one line of the file. A text that OmegaConf's grammar refuses has the value null.
type answer struct {
	Text  string `json:"text"`
	Value any    `json:"value"`
}

// keptTexts are what stands behind "r: " in the texts whose answers are kept, after the values of base.
func keptTexts() []string {
	var texts []string
	for _, one := range scalars {
		if !strings.HasPrefix(one, "- ") {
			texts = append(texts, one)
		}
	}
	for _, one := range references {
		texts = append(texts, yamlValue(one))
	}
	for _, one := range arguments {
		texts = append(texts, yamlValue("${oc.create:["+one+"]}"), yamlValue("x ${oc.env:NOPE,"+one+"}"))
	}
	return texts
}

func (python oracle) keepsAnswers(t *testing.T) {
	texts := keptTexts()
	var questions []question
	for _, one := range texts {
		questions = append(questions, question{YAML: "r: " + one + "\n", Base: base, Only: []string{"r"}})
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for i, verdict := range python.ask(t, questions) {
		require.NoError(t, encoder.Encode(answer{texts[i], verdict.Keys["r"]}))
	}
	golden.Assert(t, out.String(), answers)
}

func TestOmegaConfsAnswersAreOurs(t *testing.T) {
	t.Parallel()
	texts, resolved := keptTexts(), 0
	for i, line := range strings.Split(strings.TrimSpace(string(golden.Get(t, answers))), "\n") {
		var want answer
		require.NoError(t, json.Unmarshal([]byte(line), &want))
		require.Equal(t, texts[i], want.Text, "the answers are of other texts; see the comment of answers")
		got := ownVerdict(t, base+"r: "+want.Text+"\n", []string{"r"})
		require.Equal(t, want.Value, got.Keys["r"], want.Text)
		if want.Value != nil {
			resolved++
		}
	}
	require.Greater(t, resolved, len(texts)/2)
}
