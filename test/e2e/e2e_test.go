// Package e2e plays whole runs on a local cluster, as the demo does, and looks closer.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/test/localcluster"
	"github.com/tandem-rl/tandem/test/scenario"
)

// examples lies beside the tests in the repository.
const examples = "../../examples"

var (
	cluster *localcluster.Cluster
	bin     string
)

// sideBySide is how many runs are played at once, where tests say that they may be: there are GPUs for so many.
const sideBySide = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	bin = os.Getenv("TANDEM_BIN")
	if bin == "" || os.Geteuid() != 0 {
		fmt.Println("skipped: whole runs need root and TANDEM_BIN, the folder of the built programs; `make test` sets it")
		return 0
	}
	ctx := context.Background()
	var err error
	if cluster, err = localcluster.Start(ctx, bin, "e2e", os.Stderr); err != nil {
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

func player(t *testing.T) scenario.Player {
	t.Helper()
	return scenario.Player{
		Tandem: filepath.Join(bin, "tandem"), Kubectl: cluster.Kubectl, Env: cluster.Env, Out: t.Output(),
	}
}

func TestEveryScenarioOfTheDemoHolds(t *testing.T) { play(t, scenario.Demo(examples)) }

func TestARunFailsAsAWholeAndSaysWhy(t *testing.T) { play(t, scenario.Faults(examples)) }

func TestARunOfManyPublishersFindsThemAll(t *testing.T) { play(t, scenario.Many(examples)) }

func play(t *testing.T, scenarios []scenario.Scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) { require.NoError(t, player(t).Play(t.Context(), s).Err) })
	}
	requireNothingDropped(t)
}

func requireNothingDropped(t *testing.T) {
	t.Helper()
	dropped, err := cluster.Dropped(t.Context())
	require.NoError(t, err)
	require.Zero(t, dropped, "packets for the cluster's addresses that nobody in it answered for")
}

func TestRunsSideBySideDoNotMeet(t *testing.T) {
	t.Run("all at once", func(t *testing.T) {
		for _, s := range scenario.Demo(examples) {
			s.Name += "-beside"
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				require.NoError(t, player(t).Play(t.Context(), s).Err)
			})
		}
	})
	requireNothingDropped(t)
}
