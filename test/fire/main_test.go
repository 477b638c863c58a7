// Package fire does to the registry what clusters do to it, on a real API server and etcd: outages, deletions, expired
// tokens, missing rules, refusals, slowness, two attempts of one run at once, killed writers. Each test looks at one
// promise: what was acknowledged is there, who waits is told, and who cannot succeed learns why in time.
package fire

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/test/localcluster"
)

var (
	cluster *localcluster.Cluster
	admin   *rest.Config
	seed    = flag.Uint64("seed", 0, "of the random kills (default: another one each time; it is printed)")
)

func TestMain(m *testing.M) {
	if os.Getenv(writerEnv) != "" {
		os.Exit(writer())
	}
	flag.Parse()
	if !testing.Verbose() {
		klog.LogToStderr(false)
		klog.SetOutput(io.Discard)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	bin := os.Getenv("TANDEM_BIN")
	if bin == "" || os.Geteuid() != 0 {
		fmt.Println("skipped: the registry under fire needs root and TANDEM_BIN, the folder of the built programs; `make test` sets it")
		return 0
	}
	ctx := context.Background()
	if err := start(ctx, bin); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	code := m.Run()
	if err := cluster.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return code
}

// start makes a cluster whose etcd waits for the disk: it is killed.
func start(ctx context.Context, bin string) (err error) {
	if cluster, err = localcluster.Start(ctx, bin, "fire", os.Stderr, "--fsync"); err != nil {
		return err
	}
	admin, err = clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	return err
}
