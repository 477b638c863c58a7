package schema

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
)

// TestTheDocumentIsTheSchema fails when docs/run.schema.json is stale; go generate ./api/schema writes it.
func TestTheDocumentIsTheSchema(t *testing.T) {
	data, err := JSON()
	require.NoError(t, err)
	golden.Assert(t, string(data), "../../../docs/run.schema.json")
}
