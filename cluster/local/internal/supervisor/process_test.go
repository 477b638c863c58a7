//go:build linux

package supervisor

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve serves the processes of a supervisor without namespaces, to a client as it is used.
func serve(t *testing.T) (*Client, *table) {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, SocketName))
	require.NoError(t, err)
	table := newTable()
	server := &http.Server{Handler: handler(table, Namespace{})}
	go func() { _ = server.Serve(l) }() // ends with Close
	t.Cleanup(func() {
		for _, p := range table.list() {
			_, err := table.signal(p.Name, 9)
			require.NoError(t, err)
		}
		server.Close()
	})
	return NewClient(dir), table
}

func shell(t *testing.T, name, script string) Spec {
	t.Helper()
	return Spec{Name: name, Args: []string{"/bin/sh", "-c", script}, Log: filepath.Join(t.TempDir(), name+".log")}
}

func TestAProcessIsStartedStoppedAndStartedAgain(t *testing.T) {
	ctx := t.Context()
	client, table := serve(t)
	spec := shell(t, "one", `echo begin $A; trap "echo end; exit 3" TERM; while :; do sleep 0.01; done`)
	ready := filepath.Join(t.TempDir(), "ready.sock")
	l, err := net.Listen("unix", ready)
	require.NoError(t, err)
	defer l.Close()
	spec.Ready, spec.Env = "unix://"+ready, []string{"A=b"}
	require.NoError(t, client.Start(ctx, spec))
	first := find(t, client, "one")
	require.True(t, first.Running)
	require.Equal(t, spec, first.Spec)
	require.ErrorContains(t, client.Start(ctx, spec), "process one is running already as pid")
	require.ErrorContains(t, client.StartAgain(ctx, "one"), "process one is running already as pid")

	awaitLog(t, spec.Log, "begin b")
	require.NoError(t, client.Stop(ctx, "one", true))
	killed := find(t, client, "one")
	require.False(t, killed.Running)
	require.Equal(t, "signal: killed", killed.Exit)
	require.NoError(t, client.Stop(ctx, "one", false), "of one that has ended")

	require.NoError(t, client.StartAgain(ctx, "one"))
	again := find(t, client, "one")
	require.True(t, again.Running)
	require.Empty(t, again.Exit)
	require.NotEqual(t, first.PID, again.PID)
	require.Equal(t, spec, again.Spec)
	require.Len(t, table.list(), 1)
}

func TestHowAProcessEndedIsKept(t *testing.T) {
	client, _ := serve(t)
	for _, test := range []struct{ name, script, exit string }{
		{"well", "exit 0", "exit status 0"},
		{"with-a-status", "exit 3", "exit status 3"},
		{"by-a-signal", "kill -SEGV $$", "signal: segmentation fault"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, client.Start(t.Context(), shell(t, test.name, test.script)))
			await(t, func() bool { return !find(t, client, test.name).Running })
			require.Contains(t, find(t, client, test.name).Exit, test.exit)
		})
	}
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	client, table := serve(t)
	ended := shell(t, "ended", "echo the reason; exit 7")
	ended.Ready = "unix:///nowhere.sock"
	noLog := shell(t, "no-log", "exit 0")
	noLog.Log = "/nowhere/no.log"
	for _, test := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"a process that ends before it is ready", ended, []string{"ended (exit status 7)", "the reason", ended.Log}},
		{"a log that cannot be opened", noLog, []string{"log of no-log", "/nowhere/no.log", "no such file"}},
		{"a program that is not there", Spec{Name: "none", Args: []string{"/nowhere/none"}, Log: os.DevNull}, []string{"start none", "no such file"}},
		{"nothing to run", Spec{Name: "empty", Log: os.DevNull}, []string{`process "empty"`, "want a name and a program"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := client.Start(t.Context(), test.spec)
			for _, text := range test.want {
				require.ErrorContains(t, err, text)
			}
		})
	}
	require.Len(t, table.list(), 1, "only the one that did run")
	require.EqualError(t, client.StartAgain(t.Context(), "nobody"), `process "nobody": no such process; there are: ended`)
}

func TestAProcessThatDoesNotHeedSIGTERMIsKilled(t *testing.T) {
	client, table := serve(t)
	spec := shell(t, "deaf", `trap "" TERM; echo deaf; while :; do sleep 0.01; done`)
	require.NoError(t, client.Start(t.Context(), spec))
	awaitLog(t, spec.Log, "deaf")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, table.stop(ctx, "deaf", 15), "process deaf did not end on terminated in time and was killed")
	require.Equal(t, "signal: killed", find(t, client, "deaf").Exit)
}

func TestASupervisorThatHangsIsNotWaitedForLongerThanTheContext(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, SocketName)) // nobody accepts
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = NewClient(dir).List(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func find(t *testing.T, client *Client, name string) Process {
	t.Helper()
	list, err := client.List(t.Context())
	require.NoError(t, err)
	for _, p := range list {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no process %s among %v", name, list)
	return Process{}
}

func awaitLog(t *testing.T, file, text string) {
	t.Helper()
	await(t, func() bool { return Tail(file, 1) == text })
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 10*time.Second, 10*time.Millisecond)
}
