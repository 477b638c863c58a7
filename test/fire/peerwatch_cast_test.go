package fire

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/test/fakeray"
	"github.com/tandem-rl/tandem/test/podclient"
	"github.com/tandem-rl/tandem/test/podprocess"
)

// The tests whose names begin with TestPeerwatch look at one promise: a run dies whole, and never by mistake. Their runs
// are those of package fakeray, with the real program peerwatch for each cluster, unless they say otherwise.

// cascaded is peerwatch's exit code after it has taken its run down.
const cascaded = 4

// unready is how long heads may be unready in runs that are not about graces: short, so that whoever takes an error for
// unreadiness acts on it within the test.
const unready = 5 * time.Second

// cast is a run and its watchers.
type cast struct {
	*fakeray.Run
	ctx      context.Context // ends before the test would hang
	stage    *fakeray.Stage
	pod      *podprocess.Pod
	watchers []*podprocess.Process
}

// newCast makes a run whose watchers see everything. They reach the API server through api.
func newCast(t *testing.T, api *rest.Config, script fakeray.Script) *cast {
	t.Helper()
	c := newCrew(t, api, script)
	for i := range script.Clusters {
		c.start(t, i)
	}
	c.requireReady(t)
	return c
}

// newCrew makes a run whose watchers are not started yet.
func newCrew(t *testing.T, api *rest.Config, script fakeray.Script) *cast {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	c := &cast{ctx: ctx, watchers: make([]*podprocess.Process, script.Clusters)}
	if script.StartupGrace == 0 {
		script.StartupGrace = time.Hour
	}
	if script.UnreadyGrace == 0 {
		script.UnreadyGrace = unready
	}
	script.Name = "peerwatch-" + script.Name
	var err error
	c.stage, err = fakeray.NewStage(admin)
	require.NoError(t, err)
	c.Run, err = c.stage.Up(ctx, script)
	require.NoError(t, err)
	image, err := podprocess.NewImage(t.TempDir(), filepath.Join(os.Getenv("TANDEM_BIN"), "peerwatch"))
	require.NoError(t, err)
	token, err := c.Token(ctx, nil)
	require.NoError(t, err)
	c.pod, err = image.NewPod(api, c.Metadata.Namespace, token)
	require.NoError(t, err)
	return c
}

// start starts the watcher of cluster i, once more if it was there before.
func (c *cast) start(t *testing.T, i int) {
	t.Helper()
	w, err := c.pod.Start(c.ctx, fmt.Sprintf("watcher-%d", i), c.Watcher(i)...)
	require.NoError(t, err)
	c.watchers[i] = w
	t.Cleanup(func() {
		w.Signal(syscall.SIGKILL)
		<-w.Done()
		if t.Failed() {
			t.Logf("%s of %s:\n%s", w.Name, c.Metadata.Name, w.Log())
		}
	})
}

// until fails the test if the cast's time is over before holds.
func (c *cast) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.NoError(t, podclient.Until(c.ctx, holds), what)
}

// requireReady: all watchers see everything.
func (c *cast) requireReady(t *testing.T) {
	t.Helper()
	for _, w := range c.watchers {
		require.NoError(t, w.Ready(c.ctx))
	}
}

// requireBlind: all watchers say that they cannot see, and none has ended.
func (c *cast) requireBlind(t *testing.T) {
	t.Helper()
	for _, w := range c.watchers {
		require.NoError(t, w.Unready(c.ctx))
	}
}

// requireUnharmed: nothing of the run was deleted, and all watchers watch.
func (c *cast) requireUnharmed(t *testing.T) {
	t.Helper()
	c.requireReady(t)
	left, err := c.Left(c.ctx)
	require.NoError(t, err)
	require.Len(t, left, len(c.watchers)+1, "clusters and driver that are there")
	reason, err := c.Reported(c.ctx)
	require.NoError(t, err)
	require.Empty(t, reason)
}

// requireDown: everything is deleted, those watchers that were left have done their work, and the reason is the right one.
func (c *cast) requireDown(t *testing.T, reason string) {
	t.Helper()
	var left []string
	require.NoError(t, podclient.Until(c.ctx, func() bool {
		var err error
		left, err = c.Left(c.ctx)
		return err == nil && len(left) == 0
	}), "left: %v", left)
	reported, err := c.Reported(c.ctx)
	require.NoError(t, err)
	require.Contains(t, reported, reason)
}

// requireCascaded: these watchers say that they have taken the run down.
func (c *cast) requireCascaded(t *testing.T, watchers ...int) {
	t.Helper()
	for _, i := range watchers {
		c.until(t, "the watcher ends", c.watchers[i].Ended)
		require.Equal(t, cascaded, c.watchers[i].Code())
	}
}

// requireItStillBites: after whatever it went through, the run is taken down when a head restarts.
func (c *cast) requireItStillBites(t *testing.T) {
	t.Helper()
	c.requireUnharmed(t)
	require.NoError(t, c.RestartHead(c.ctx, 1))
	c.requireDown(t, "restarted")
	c.requireCascaded(t, 0, 1)
}

// newProxy is one in front of the API server.
func newProxy(t *testing.T) *podprocess.Proxy {
	t.Helper()
	proxy, err := podprocess.NewProxy(admin)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}
