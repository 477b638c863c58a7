package kai

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMatrixNamesASourceForEveryLine(t *testing.T) {
	t.Parallel()
	for _, row := range matrix {
		require.NotEmpty(t, row.what)
		require.NotEmpty(t, row.source, row.what)
		require.Regexp(t, `^(from|before) 0\.\d+\.\d+`, row.span.String(), row.what)
	}
}
