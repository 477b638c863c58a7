package plan

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// load reads a Run file of this package, or of the examples.
func load(t *testing.T, file string) *v1alpha1.Run {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	run, err := v1alpha1.Load(data)
	require.NoError(t, err)
	if run.Metadata.Namespace == "" {
		run.Metadata.Namespace = "post-train"
	}
	return run
}

// planned is the plan of a file; change may be nil.
func planned(t *testing.T, file string, change func(*v1alpha1.Run)) *Plan {
	t.Helper()
	run := load(t, file)
	if change != nil {
		change(run)
	}
	p, err := Of(run)
	require.NoError(t, err)
	return p
}

const gang = "testdata/gang.yaml"

func onBackend(backend v1alpha1.Backend) func(*v1alpha1.Run) {
	return func(run *v1alpha1.Run) { run.Spec.Backend = backend }
}

func TestPlansAreAsTheyWere(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob("../examples/disagg-*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, file := range examples {
		assertText(t, planned(t, file, nil), filepath.Base(file)+".txt")
	}
	for _, backend := range []v1alpha1.Backend{v1alpha1.BackendJobSet, v1alpha1.BackendRayCluster, v1alpha1.BackendRayJob} {
		assertText(t, planned(t, gang, onBackend(backend)), "gang-"+string(backend)+".txt")
	}
	assertText(t, planned(t, "testdata/awkward.yaml", nil), "awkward.txt")
}

func assertText(t *testing.T, p *Plan, file string) {
	t.Helper()
	var out bytes.Buffer
	p.Unasked("--offline")
	require.NoError(t, p.WriteText(&out))
	golden.Assert(t, out.String(), file)
}

func TestAPlanIsData(t *testing.T) {
	t.Parallel()
	data, err := json.MarshalIndent(planned(t, gang, nil), "", "  ")
	require.NoError(t, err)
	golden.Assert(t, string(data)+"\n", "gang.json")
}

func TestAStreamThatFailsIsReported(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, planned(t, gang, nil).WriteText(broken{}), io.ErrClosedPipe)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWhatTheSchedulerWouldNotStartIsAFinding(t *testing.T) {
	t.Parallel()
	p := planned(t, gang, func(run *v1alpha1.Run) {
		run.Spec.PodTemplate = v1alpha1.NewPodTemplate([]byte(`{"spec": {"schedulingGates": [{"name": "example.com/wait"}]}}`))
	})
	require.Equal(t, Refused, p.Verdict.State)
	require.Contains(t, p.Verdict.Text, "refused: KAI rule R9")
}

func TestARunThatCannotBeRenderedIsAnError(t *testing.T) {
	t.Parallel()
	run := load(t, gang)
	run.Spec.Driver.Cluster = "nowhere"
	_, err := Of(run)
	require.ErrorContains(t, err, "spec.driver.cluster")
}
