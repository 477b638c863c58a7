package graph

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// example is a run of the examples folder.
func example(t *testing.T, name string) *v1alpha1.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../examples", name))
	require.NoError(t, err)
	return loaded(t, string(data))
}

// loaded is a run with its defaults. It is not validated: the picture of a run depends on no rule.
func loaded(t *testing.T, file string) *v1alpha1.Run {
	t.Helper()
	run, err := v1alpha1.Decode([]byte(file))
	require.NoError(t, err)
	run.SetDefaults()
	return run
}

// fleet is a run of many clusters of many groups; every third group is like the one before it.
func fleet(t *testing.T, clusters, groups int, name func(i int) string) *v1alpha1.Run {
	t.Helper()
	var file strings.Builder
	fmt.Fprintf(&file, "apiVersion: tandem.dev/v1alpha1\nkind: Run\nmetadata: {name: %s}\nspec:\n  backend: raycluster\n  image: x:1\n", name(0))
	fmt.Fprintf(&file, "  scheduling: {scheduler: kai, queue: team, gang: cluster}\n  driver: {cluster: %s, command: [train]}\n  clusters:\n", name(0))
	for i := range clusters {
		fmt.Fprintf(&file, "  - name: %s\n    publish: [{key: %s-key, url: \"http://x\"}, {key: shared, member: true, url: \"http://y\"}]\n    workers:\n", name(i), name(i))
		for j := range groups {
			fmt.Fprintf(&file, "    - {name: group-%03d, replicas: %d, gpus: %d}\n", j, j/3%2+1, j/3%3)
		}
	}
	return loaded(t, file.String())
}

func short(i int) string { return fmt.Sprintf("c%d", i) }

func long(i int) string { return strings.Repeat("long-name-of-a-cluster-", 3) + fmt.Sprint(i) }

// rich has all that is drawn.
const rich = `
apiVersion: tandem.dev/v1alpha1
kind: Run
metadata: {name: qwen3-grpo, namespace: post-train}
spec:
  backend: raycluster
  image: nemo-rl:1
  scheduling: {scheduler: kai, queue: rl-team, gang: run, kaiVersion: "0.17"}
  failure: {onPeerFailure: restart, maxRestarts: 3}
  clusters:
  - name: rl
    head: {resources: {cpu: "4", memory: 16Gi}}
    workers:
    - {name: trainer, replicas: 4, gpus: 8, segmentSize: 2, claims: [imex], resources: {cpu: "120", memory: 850Gi, rdma/hca: 8}}
  - name: generation
    workers:
    - {name: vllm, replicas: 8, gpus: 4, resources: {cpu: "60", memory: 400Gi}}
    publish:
    - {key: vllm_base_urls, member: true, file: urls, when: {httpGet: {path: /health}}}
  - name: gym
    head: {command: [gym-server]}
    publish:
    - {key: gym_head_server, url: "http://$(POD_IP):9090", when: {httpGet: {port: 9090, path: /global_config_dict_yaml}}}
    workers:
    - {name: sandbox, replicas: 2, minReplicas: 1, maxReplicas: 16, setup: "export MODEL=$(registry wait vllm_base_urls --timeout 5m)"}
  driver: {cluster: rl, command: [python, examples/nemo_gym/run_grpo_nemo_gym.py, "+env.disagg_job_id=$(TANDEM_RUN)"]}
  claims:
  - {name: imex, computeDomain: {}}
`
