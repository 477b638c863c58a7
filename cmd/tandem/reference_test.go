package main

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/spf13/cobra"
	"gotest.tools/v3/golden"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

//go:generate go test -count=1 -run ^TestTheReferenceSaysWhatTheProgramSays$ . -update

func TestTheReferenceSaysWhatTheProgramSays(t *testing.T) {
	root := newRoot(genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: io.Discard})
	var out bytes.Buffer
	fmt.Fprintf(&out, "# tandem\n\nWritten by `go generate ./cmd/tandem` from what the program says itself.\n")
	writeReference(&out, root)
	golden.Assert(t, out.String(), "../../../docs/reference/tandem.md")
}

func writeReference(out io.Writer, cmd *cobra.Command) {
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	fmt.Fprintf(out, "\n## %s\n\n%s\n\n```\n%s```\n", cmd.CommandPath(), about, cmd.UsageString())
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			writeReference(out, child)
		}
	}
}
