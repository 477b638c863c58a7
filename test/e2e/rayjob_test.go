package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/tandem-rl/tandem/test/scenario"
)

// The runs are played side by side: each waits more than it works, since KubeRay asks a head about its job every three seconds.
func TestRunsOfARayJob(t *testing.T) {
	t.Run("all at once", func(t *testing.T) {
		for _, s := range scenario.RayJobs(examples) {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				require.NoError(t, player(t).Play(t.Context(), s).Err)
			})
		}
		t.Run("rayjob-killed-up", func(t *testing.T) {
			t.Parallel()
			upThatIsKilledIsGoneOnWith(t)
		})
	})
	requireNothingDropped(t)
}

// upThatIsKilledIsGoneOnWith kills `tandem up` with SIGKILL when the RayJob is there and its prerequisites are not: nothing of the run may
// start, and the next `up` makes the rest.
func upThatIsKilledIsGoneOnWith(t *testing.T) {
	s := scenario.RayJobs(examples)[0]
	s.Name = "rayjob-killed-up"
	p := player(t)
	file, err := s.RunFile()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	held := make(chan struct{})
	up := exec.CommandContext(ctx, p.Tandem, "up", "-f", "-")
	up.Stdin, up.Stdout, up.Stderr = strings.NewReader(file), t.Output(), t.Output()
	up.Env = append(os.Environ(), "KUBECONFIG="+holding(t, "/rolebindings/", held))
	require.NoError(t, up.Start())
	select {
	case <-held:
	case <-ctx.Done():
		require.Fail(t, "up has not come as far as the RoleBindings")
	}
	require.NoError(t, up.Process.Kill())
	require.Error(t, up.Wait())

	status := kubectl(t, "get", "rayjob", s.Name, "-o", "jsonpath={.spec.suspend} {.metadata.annotations.tandem\\.dev/starting}")
	require.Regexp(t, `^true \d{4}-`, status)
	kubectl(t, "wait", "rayjob/"+s.Name, "--for=jsonpath={.status.jobDeploymentStatus}=Suspended", "--timeout=60s")
	require.Empty(t, kubectl(t, "get", "rayclusters,pods", "-l", "tandem.dev/run="+s.Name, "-o", "name"), "nothing of it starts")
	require.NoError(t, p.Play(t.Context(), s).Err, "up again")
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), cluster.Kubectl, args...)
	cmd.Env = cluster.Env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// holding returns a kubeconfig of the cluster, whose first change of something at the path is never answered; held is closed then.
func holding(t *testing.T, path string, held chan<- struct{}) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	first := make(chan struct{}, 1)
	first <- struct{}{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !r.URL.Query().Has("dryRun") && strings.Contains(r.URL.Path, path) {
			select {
			case <-first:
				close(held)
			default:
			}
			_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client is gone
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"held": {Server: server.URL}},
		Contexts:       map[string]*api.Context{"held": {Cluster: "held", Namespace: "default"}},
		CurrentContext: "held",
	}, file))
	return file
}
