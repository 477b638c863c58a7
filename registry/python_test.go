package registry

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubernetesPackage is pinned: its successor 36.0.0 sends no token.
const kubernetesPackage = "kubernetes==35.0.0"

// TestPythonPeer lets a Python program with the `kubernetes` package and this library use one ConfigMap.
func TestPythonPeer(t *testing.T) {
	s := startServer(t)
	python := venv(t)
	kubeconfig := writeKubeconfig(t, s.cfg)
	peer := func(run string, args ...string) string {
		t.Helper()
		args = append([]string{"testdata/peer.py", kubeconfig, "default", DefaultPrefix + run}, args...)
		out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSuffix(string(out), "\n")
	}

	// An object that Python made.
	peer("made-by-python", "create")
	store := s.store(t, "made-by-python", "pod")
	require.NoError(t, store.Set(t.Context(), "gym_head_server", "http://10.0.0.1:9090"))
	require.NoError(t, store.Join(t.Context(), "vllm_base_urls", "http://10.0.0.2:8000/v1"))
	require.Equal(t, "http://10.0.0.1:9090", peer("made-by-python", "get", "gym_head_server"))
	require.Equal(t, `["http://10.0.0.2:8000/v1"]`, peer("made-by-python", "get", "vllm_base_urls"))

	// Python replaces what this wrote, and this goes on from there.
	done := waiting(t, store, "generation_world_size")
	peer("made-by-python", "set", "generation_world_size", "8")
	require.Equal(t, result{value: "8"}, receive(t, done))
	peer("made-by-python", "set", "vllm_base_urls", `["http://10.0.0.3:8000/v1", null]`)
	require.NoError(t, store.Join(t.Context(), "vllm_base_urls", "http://10.0.0.1:8000/v1"))
	require.Equal(t, `["http://10.0.0.1:8000/v1", "http://10.0.0.3:8000/v1"]`, peer("made-by-python", "get", "vllm_base_urls"))
	peer("made-by-python", "set", "gym_head_server", "http://10.0.0.9:9090")
	require.NoError(t, store.Withdraw(t.Context(), "gym_head_server"))
	require.Equal(t, "http://10.0.0.9:9090", peer("made-by-python", "get", "gym_head_server"), "it belongs to Python now")

	// What Python writes belongs to the current incarnation.
	require.NoError(t, store.Reset(t.Context(), "2"))
	peer("made-by-python", "set", "gym_head_server", "http://10.0.0.8:9090")
	reader, err := New(Config{Run: "made-by-python", Namespace: "default", Incarnation: "2"}, s.cfg)
	require.NoError(t, err)
	value, err := reader.GetNow(t.Context(), "gym_head_server")
	require.NoError(t, err)
	require.Equal(t, "http://10.0.0.8:9090", value)
	peer("made-by-python", "set", ErrorKey, "gym crashed")
	_, err = reader.Get(t.Context(), "never")
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorContains(t, err, "gym crashed")
}

// venv makes a Python with the package, or skips the test and says why.
func venv(t *testing.T) (python string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, command := range [][]string{
		{"python3", "-m", "venv", dir},
		{filepath.Join(dir, "bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", kubernetesPackage},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("skipped: no Python with %s here: %s: %v: %s", kubernetesPackage, strings.Join(command, " "), err, out)
		}
	}
	return filepath.Join(dir, "bin/python")
}

func writeKubeconfig(t *testing.T, cfg *rest.Config) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "test"
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, Token: cfg.BearerToken}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	require.NoError(t, os.Chmod(path, 0o600))
	return path
}
