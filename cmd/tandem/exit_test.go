package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/launch"
)

func TestErrorsArePrintedWithAHintAndHaveTheirExitCode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		code int
		want string
	}{
		{"an ordinary error", errors.New("no route to host"), exitFailed, "error: no route to host\n"},
		{"a mistake in usage", usageError{errors.New("which run?")}, exitUsage, "error: which run?\nhint: tandem --help\n"},
		{"a file that cannot be read", &runFileError{"x.yaml", errors.New("no such file")}, exitUsage, "error: x.yaml: no such file\n"},
		{
			"a run that has ended", fmt.Errorf("wrapped: %w", &launch.EndedError{Name: "x", Phase: launch.Failed, Reason: "gym died"}), exitFailed,
			"error: wrapped: run x has ended (Failed: gym died)\nhint: remove it first: tandem down x\n",
		},
		{
			"a cluster without the controller", &launch.MissingKindError{Kind: "JobSet", Err: errors.New("no matches")}, exitFailed,
			"error: the cluster knows no JobSet: no matches\nhint: install the controller that brings JobSet, or choose another backend or spec.scheduling.scheduler\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.Equal(t, tt.code, fail(&out, tt.err))
			require.Equal(t, tt.want, out.String())
		})
	}
}
