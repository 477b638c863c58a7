package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/tandem-rl/tandem/internal/testenv"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tandem": func() { os.Exit(Main()) }})
}

// The scripts in testdata/script need no cluster.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: setup(t, "")})
}

// Those in testdata/cluster have an API server in $KUBECONFIG.
func TestScriptsOnACluster(t *testing.T) {
	config := testenv.Start(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	file := clientcmdapi.NewConfig()
	file.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	file.CurrentContext = "test"
	require.NoError(t, clientcmd.WriteToFile(*file, kubeconfig))
	testscript.Run(t, testscript.Params{Dir: "testdata/cluster", Setup: setup(t, kubeconfig)})
}

func setup(t *testing.T, kubeconfig string) func(*testscript.Env) error {
	t.Helper()
	examples, err := filepath.Abs("../../examples")
	require.NoError(t, err)
	return func(env *testscript.Env) error {
		env.Setenv("EXAMPLES", examples)
		env.Setenv("KUBECONFIG", kubeconfig)
		return nil
	}
}
