package reap

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reopened is the book as it comes back from the API server.
func reopened(t *testing.T, book, old Book) Book {
	t.Helper()
	patch, err := book.patch(old)
	require.NoError(t, err)
	raw, err := json.Marshal(patch)
	require.NoError(t, err)
	var sent struct {
		Metadata objectMeta         `json:"metadata"`
		Data     map[string]*string `json:"data"`
	}
	require.NoError(t, json.Unmarshal(raw, &sent))
	cm := configMap{Metadata: sent.Metadata, Data: map[string]string{}}
	for key, text := range sent.Data {
		if text != nil {
			cm.Data[key] = *text
		}
	}
	again, err := openBook(cm)
	require.NoError(t, err)
	return again
}

func TestABookComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	empty := Book{version: "7"}
	book := empty.withDeletion(stuckPod(), start).withExclusion("node-2", "bad", start).withTaint("node-2")
	require.Equal(t, book, reopened(t, book, empty))
	require.Equal(t, 1, book.excluded())
	require.True(t, book.has(stuckPod()))
}

func TestABookForgetsWhatCountsNoMore(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	book := Book{}.withDeletion(stuckPod(), start).withExclusion("node-2", "bad", start)
	require.True(t, book.same(book.forget(day, start.Add(day-time.Second))))
	later := book.forget(day, start.Add(day))
	require.NotContains(t, later.Pages, "node-1")
	require.Contains(t, later.Pages, "node-2")
	last := book.forget(day, start.Add(30*day))
	require.Empty(t, last.Pages)
	patch, err := last.patch(book)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"node.node-1": nil, "node.node-2": nil}, patch["data"], "the keys are removed")
}

func TestABookThatSomebodySpoiled(t *testing.T) {
	t.Parallel()
	_, err := openBook(configMap{Data: map[string]string{"node.node-1": "{", "note": "of a person"}})
	require.ErrorContains(t, err, "key node.node-1")
	require.ErrorContains(t, err, "remove it")
}
