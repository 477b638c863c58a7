// Package testenv gives a test a real kube-apiserver and etcd with the JobSet and KubeRay CRDs.
//
// It needs KUBEBUILDER_ASSETS to name the folder with the two binaries; `make test` sets it to those that
// cluster/local built. Without it the test is skipped and says so.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Start runs an API server until the test ends and returns an administrator's configuration for it.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	env := Environment(t)
	cfg, err := env.Start()
	require.NoError(t, err, "starting kube-apiserver and etcd from KUBEBUILDER_ASSETS=%s", os.Getenv("KUBEBUILDER_ASSETS"))
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	return cfg
}

// Environment returns the environment that Start starts, for tests that add flags or users to it.
func Environment(t testing.TB) *envtest.Environment {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("skipped: KUBEBUILDER_ASSETS is not set, so there is no API server; `make test` sets it")
	}
	return &envtest.Environment{
		ErrorIfCRDPathMissing: true,
		CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: time.Minute}, // KubeRay's are large, and tests run side by side
		CRDDirectoryPaths: []string{
			filepath.Join(moduleDir(t, "sigs.k8s.io/jobset"), "config/components/crd/bases"),
			filepath.Join(moduleDir(t, "github.com/ray-project/kuberay/ray-operator"), "config/crd/bases"),
		},
	}
}

// moduleDir finds a dependency's source, which holds the CRDs of exactly the version that go.mod names.
func moduleDir(t testing.TB, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err, "go list -m %s", module)
	return strings.TrimSpace(string(out))
}
