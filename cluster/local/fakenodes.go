//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/cluster/local/internal/deviceplugin"
	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

const kwokModule = "sigs.k8s.io/kwok"

// fakeNodes are kwok's nodes, with GPUs and the labels that topology-aware scheduling reads: nodes in NVLink
// cliques of 8 and zones of 64.
func fakeNodes(c Config) ([]byte, error) {
	var out []byte
	for i := range c.Nodes {
		var node corev1.Node
		node.APIVersion, node.Kind = "v1", "Node"
		node.Name = fmt.Sprintf("fake-%d", i)
		node.Annotations = map[string]string{"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"}
		node.Labels = map[string]string{
			"kubernetes.io/hostname":        node.Name,
			"kubernetes.io/os":              "linux",
			"kubernetes.io/arch":            "amd64",
			"type":                          "kwok",
			"nvidia.com/gpu.present":        "true",
			"nvidia.com/gpu.clique":         fmt.Sprintf("clique-%d", i/8),
			"topology.kubernetes.io/zone":   fmt.Sprintf("zone-%d", i/64),
			"topology.kubernetes.io/region": "local",
		}
		node.Spec.Taints = []corev1.Taint{{Key: "kwok.x-k8s.io/node", Value: "fake", Effect: corev1.TaintEffectNoSchedule}}
		node.Status.Capacity = fakeCapacity(c.NodeGPUs)
		node.Status.Allocatable = node.Status.Capacity
		text, err := yaml.Marshal(node)
		if err != nil {
			return nil, err
		}
		out = append(append(out, "---\n"...), text...)
	}
	return out, nil
}

func kwok(ctx context.Context, c Config, assets string) (supervisor.Spec, error) {
	source, err := moduleDir(ctx, filepath.Join(c.Source, "kwok"), kwokModule)
	if err != nil {
		return supervisor.Spec{}, err
	}
	args := []string{
		"--kubeconfig=" + c.kubeconfig("addons"),
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--cidr=" + fakePodCIDR,
		"--node-ip=" + fakeNodeIP,
		"--node-lease-duration-seconds=40",
		"--server-address=127.0.0.1:10247",
	}
	for _, dir := range []string{"node/fast", "pod/fast"} {
		files, err := filepath.Glob(filepath.Join(source, "kustomize/stage", dir, "*-*.yaml"))
		if err != nil {
			return supervisor.Spec{}, err
		}
		for _, file := range files {
			// A copy: the module cache may lie where an instance does not see it, below /var/lib say.
			stage, err := os.ReadFile(file)
			if err != nil {
				return supervisor.Spec{}, err
			}
			own := c.dir("kwok", filepath.Base(file))
			if err := os.WriteFile(own, stage, 0o644); err != nil {
				return supervisor.Spec{}, err
			}
			args = append(args, "--config="+own)
		}
	}
	return c.process(assets, "kwok", "http://127.0.0.1:10247/healthz", args...), nil
}

func fakeCapacity(gpus int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("192"),
		corev1.ResourceMemory: resource.MustParse("2Ti"),
		corev1.ResourcePods:   resource.MustParse("250"),
		deviceplugin.Resource: *resource.NewQuantity(int64(gpus), resource.DecimalSI),
	}
}
