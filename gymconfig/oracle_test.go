package gymconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The versions that NeMo-RL locks.
var oraclePackages = []string{"omegaconf==2.3.1", "hydra-core==1.3.2", "PyYAML==6.0.3"}

// question is one line for testdata/oracle.py.
type question struct {
	YAML      string         `json:"yaml"`
	Base      string         `json:"base,omitempty"` // a text that comes before; it is read once
	Only      []string       `json:"only,omitempty"` // keys; all where it is empty
	Set       map[string]any `json:"set,omitempty"`
	File      string         `json:"file,omitempty"`
	Overrides []string       `json:"overrides,omitempty"`
}

// verdict is what the real OmegaConf says: the value of each key, null where it fails, or an error of the whole.
type verdict struct {
	Keys  map[string]any `json:"keys"`
	Error string         `json:"error"`
}

// ask puts all questions to one Python.
func (python oracle) ask(t *testing.T, questions []question) []verdict {
	t.Helper()
	var in bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, one := range questions {
		require.NoError(t, encoder.Encode(one))
	}
	cmd := exec.CommandContext(t.Context(), string(python), "testdata/oracle.py")
	cmd.Stdin, cmd.Env = &in, oracleEnv
	out, err := cmd.Output()
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(out))
	verdicts := make([]verdict, len(questions))
	for i := range verdicts {
		require.NoError(t, decoder.Decode(&verdicts[i]))
	}
	return verdicts
}

// oracleEnv is the environment of both sides.
var oracleEnv = []string{"TANDEM_TEST=value", "TANDEM_NUMBER=07", "TANDEM_REFERENCE=${b}", "TANDEM_EMPTY="}

func lookUpOracleEnv(name string) (string, bool) {
	for _, one := range oracleEnv {
		if key, value, _ := strings.Cut(one, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// oracle is a Python with the real OmegaConf.
type oracle string

// newOracle makes a Python with the packages, or skips the test and says why. What is in TANDEM_OMEGACONF_VENV is used instead.
func newOracle(t *testing.T) oracle {
	t.Helper()
	if kept := os.Getenv("TANDEM_OMEGACONF_VENV"); kept != "" {
		return oracle(filepath.Join(kept, "bin/python"))
	}
	dir := filepath.Join(t.TempDir(), "venv")
	python := filepath.Join(dir, "bin/python")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, command := range [][]string{
		{"python3", "-m", "venv", dir},
		append([]string{python, "-m", "pip", "install", "-q", "--disable-pip-version-check"}, oraclePackages...),
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("skipped: no Python with %s here: %s: %v: %s", strings.Join(oraclePackages, ", "), strings.Join(command, " "), err, out)
		}
	}
	return oracle(python)
}

// typedValue is a value in the words of oracle.py, as JSON decodes them.
func typedValue(t *testing.T, n *node) any {
	t.Helper()
	switch n.kind {
	case mappingKind:
		pairs := []any{}
		for _, one := range n.entries {
			pairs = append(pairs, []any{typedValue(t, newScalar(one.key)), typedValue(t, one.value)})
		}
		return []any{"dict", pairs}
	case listKind:
		items := []any{}
		for _, item := range n.items {
			items = append(items, typedValue(t, item))
		}
		return []any{"list", items}
	}
	switch v := n.scalar.(type) {
	case nil:
		return []any{"none"}
	case bool:
		return []any{"bool", v}
	case *big.Int:
		return []any{"int", v.String()}
	case float64:
		return []any{"float", pythonRepr(v)}
	case string:
		return []any{"str", v}
	default:
		require.FailNow(t, "a value without a type", fmt.Sprintf("%T", v))
		return nil
	}
}

// ownVerdict is what this package says to a question about a text.
func ownVerdict(t *testing.T, text string, only []string) verdict {
	t.Helper()
	root, err := parseYAML([]byte(text))
	if err == nil && root.kind != mappingKind {
		err = errors.New("no mapping")
	}
	if err != nil {
		return verdict{Error: err.Error()}
	}
	return verdictOf(t, root, only)
}

func verdictOf(t *testing.T, root *node, only []string) verdict {
	t.Helper()
	out := verdict{Keys: map[string]any{}}
	for _, one := range root.entries {
		if only != nil && !slices.Contains(only, pythonString(one.key)) {
			continue
		}
		m := &materialiser{resolver: &resolver{root: root, env: lookUpOracleEnv}, literally: true}
		value := m.child(one.value, "")
		key := pythonString(one.key)
		if out.Keys[key] = nil; len(m.dropped) == 0 {
			out.Keys[key] = typedValue(t, value)
		}
	}
	return out
}
