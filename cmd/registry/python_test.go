package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/internal/testenv"
)

// TestPythonClient is R15: an app needs neither a package nor a token. It runs the tests of clients/python, once over
// TCP and once over a Unix socket.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: no python3 here")
	}
	cfg := testenv.Start(t)
	socket := filepath.Join(t.TempDir(), "socket")
	for run, address := range map[string]string{"python-tcp": "127.0.0.1:0", "python-unix": unixPrefix + socket} {
		t.Run(run, func(t *testing.T) {
			createRun(t, cfg, run)
			listener, err := listen(address)
			require.NoError(t, err)
			s := startServer(t, &server{
				listener: listener, store: openStore(t, cfg, run, "pod"), metrics: newMetrics(), health: health{time.Second, 3},
			})
			if _, isUnix := listener.(*net.UnixListener); isUnix {
				s.url = address
			}
			cmd := exec.CommandContext(t.Context(), python, "-B", "test_tandem_registry.py")
			cmd.Dir = "../../clients/python"
			cmd.Env = append(os.Environ(), "TANDEM_REGISTRY="+s.url, "TANDEM_RUN="+run)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
		})
	}
}
