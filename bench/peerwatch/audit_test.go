package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/test/podclient"
)

func line(id, stage, verb, resource, name string, code int, at string) string {
	return fmt.Sprintf(`{"auditID":%q,"stage":%q,"verb":%q,"objectRef":{"namespace":"run-1","resource":%q,"name":%q},"responseStatus":{"code":%d},"requestReceivedTimestamp":%q,"stageTimestamp":%q}`,
		id, stage, verb, resource, name, code, at, at)
}

func TestTheAuditLogIsReadWhileItIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	log, err := os.Create(file)
	require.NoError(t, err)
	defer log.Close()
	a := &audit{}
	require.NoError(t, a.follow(t.Context(), file))
	text := line("1", "ResponseComplete", "delete", "rayclusters", "gym", 200, "2026-01-01T00:00:01.000001Z") + "\n" +
		line("2", "ResponseComplete", "delete", "rayclusters", "rl", 403, "2026-01-01T00:00:02.000000Z") + "\n" +
		line("3", "ResponseComplete", "delete", "jobs", "driver", 200, "2026-01-01T00:00:03.000000Z") + "\n"
	for _, part := range []string{text[:100], text[100:]} {
		_, err := log.WriteString(part)
		require.NoError(t, err)
	}
	require.NoError(t, podclient.Until(t.Context(), func() bool { return len(a.of("run-1")) == 3 }))

	deletions, err := a.deletions("run-1")
	require.NoError(t, err)
	last, all := lastDelete(deletions, []string{"gym", "driver"})
	require.True(t, all)
	require.Equal(t, time.Date(2026, 1, 1, 0, 0, 3, 0, time.UTC), last)
	_, all = lastDelete(deletions, []string{"gym", "rl"})
	require.False(t, all, "the server refused to delete rl")
}

func TestAWatchCountsOnceAndApart(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	watch := request{AuditID: "1", Verb: "watch", Received: at.Add(time.Second)}
	others, watches := between([]request{
		watch, watch, // it began and ended
		{AuditID: "2", Verb: "get", Received: at.Add(time.Second)},
		{AuditID: "3", Verb: "get", Received: at.Add(-time.Second)},
		{AuditID: "4", Verb: "get", Received: at.Add(time.Minute)},
	}, at, at.Add(2*time.Second))
	require.Equal(t, 1, others)
	require.Equal(t, 1, watches)
}
