package launch_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/launch"
)

func TestTheLastLinesOfALogAreThoseOfTheInstanceThatFailed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		_, _ = w.Write([]byte("one\ntwo\xff\n\n"))
	}))
	t.Cleanup(server.Close)
	launcher, err := launch.New(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	lines, err := launcher.LastLines(t.Context(), "n", launch.FailedContainer{Pod: "p", Container: "ray", Restarted: true}, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two?"}, lines)
	require.Equal(t, "/api/v1/namespaces/n/pods/p/log?container=ray&limitBytes=65536&previous=true&tailLines=10", <-asked)
}

func TestALogThatCannotBeReadSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	launcher, err := launch.New(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	_, err = launcher.LastLines(t.Context(), "n", launch.FailedContainer{Pod: "p", Container: "ray"}, 10)
	require.ErrorContains(t, err, "reading the log of container ray of pod p: ")
}
