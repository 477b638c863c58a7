package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/launch"
)

func TestStatusShowsWhatFailedContainersSaidLast(t *testing.T) {
	t.Parallel()
	status := launch.Status{Name: "a", Namespace: "train", Backend: "raycluster", Phase: launch.Failed, Reason: "gym died"}
	status.PostMortem = []launch.EndedContainer{
		{Pod: "a-gym-head", Container: "ray", ExitCode: new(1), Reason: "Error", Log: "Traceback\n  KeyError"},
		{Pod: "a-driver-x", Container: "driver", ExitCode: new(7), LogError: "context deadline exceeded"},
	}
	var out bytes.Buffer
	require.NoError(t, writeStatus(&out, status, "table"))
	require.Equal(t, `run      train/a
backend  raycluster
phase    Failed
reason   gym died

container ray of pod a-gym-head ended with exit code 1
  Traceback
    KeyError

container driver of pod a-driver-x ended with exit code 7
  its log could not be kept: context deadline exceeded
`, out.String())
}
