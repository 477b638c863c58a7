package v1alpha1

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileThatIsNoRunFileIsNotParsed(t *testing.T) {
	_, err := Load(bytes.Repeat([]byte("- b\n"), maxBytes/4+1))
	require.ErrorContains(t, err, "the file has 2097156 bytes; a Run file has at most 2097152")
}
