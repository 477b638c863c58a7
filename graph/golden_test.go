package graph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// awkward has characters that mean something in each of the formats.
const awkward = `
apiVersion: tandem.dev/v1alpha1
kind: Run
metadata: {name: awkward}
spec:
  backend: jobset
  image: x:1
  scheduling: {scheduler: kai, queue: team}
  clusters:
  - name: rl
    publish: [{key: k.e-y_1, url: "http://x", when: {httpGet: {port: 1, path: "/a?b=<c>&d=\"e\"|f;g#h"}}}]
  driver: {cluster: rl, command: [sh, -c, "echo \"a\" <b> && c | d; # \\ ` + "`e`" + ` --> ü"]}
`

var formats = []struct {
	ending string
	write  func(io.Writer, Graph) error
}{
	{"mmd", WriteMermaid},
	{"dot", WriteDOT},
	{"svg", WriteSVG},
}

func TestPicturesAreAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]*v1alpha1.Run{
		"disagg-jobset":     example(t, "disagg-jobset.yaml"),
		"disagg-raycluster": example(t, "disagg-raycluster.yaml"),
		"disagg-rayjob":     example(t, "disagg-rayjob.yaml"),
		"rich":              loaded(t, rich),
		"awkward":           loaded(t, awkward),
		"fleet":             fleet(t, 3, 100, short),
	} {
		for _, format := range formats {
			var out bytes.Buffer
			require.NoError(t, format.write(&out, Of(run)))
			golden.Assert(t, out.String(), name+"."+format.ending)
		}
	}
}

func TestTheSVGIsXMLThatLoadsNothing(t *testing.T) {
	t.Parallel()
	for name, run := range runs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			require.NoError(t, WriteSVG(&out, Of(run)))
			for _, loader := range []string{"<script", "<image", "href", "@import", "@font-face", "url(http"} {
				require.NotContains(t, out.String(), loader)
			}
			decoder := xml.NewDecoder(&out)
			for {
				_, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
			}
		})
	}
}

func TestAWriterThatFailsIsReported(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		require.ErrorIs(t, format.write(broken{}, Of(loaded(t, rich))), io.ErrClosedPipe, format.ending)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
