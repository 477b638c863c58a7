//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

const (
	jobsetModule  = "sigs.k8s.io/jobset"
	kuberayModule = "github.com/ray-project/kuberay/ray-operator"
)

// The controllers' webhooks listen on the node's address, each on its port.
const (
	kuberayWebhookPort = 9443 // fixed in KubeRay 1.6: it makes its server with controller-runtime's default
	jobsetWebhookPort  = 9444
)

// corefile serves the cluster's names and nothing else; a name outside gets NXDOMAIN.
const corefile = `.:53 {
    errors
    health 127.0.0.1:8180
    ready 127.0.0.1:8181
    cache 5
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig %s
        pods insecure
        ttl 5
    }
    template IN ANY . {
        rcode NXDOMAIN
    }
}
`

func coredns(c Config, assets string) (supervisor.Spec, error) {
	file := c.dir("Corefile")
	if err := os.WriteFile(file, fmt.Appendf(nil, corefile, c.kubeconfig("addons")), 0o644); err != nil {
		return supervisor.Spec{}, err
	}
	return c.process(assets, "coredns", "http://127.0.0.1:8181/ready", "-conf", file), nil
}

const jobsetConfig = `apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:8081"}
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
webhook: {port: %d, certDir: %q}
`

func jobset(c Config, assets string) (supervisor.Spec, error) {
	file := c.dir("jobset.yaml")
	data := fmt.Appendf(nil, jobsetConfig, jobsetWebhookPort, c.dir("tmp", "k8s-webhook-server", "serving-certs"))
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return supervisor.Spec{}, err
	}
	spec := c.process(assets, "jobset", "http://127.0.0.1:8081/readyz", "--config="+file, "--metrics-bind-address=0")
	spec.Env = []string{"KUBECONFIG=" + c.kubeconfig("addons")}
	return spec, nil
}

func kuberay(c Config, assets string) supervisor.Spec {
	spec := c.process(assets, "kuberay", fmt.Sprintf("tcp://%s:%d", nodeAddress, kuberayWebhookPort),
		"--metrics-addr=0", "--health-probe-bind-address=127.0.0.1:8082",
		"--enable-leader-election=false", "--enable-batch-scheduler=false",
		// It asks the heads of RayJobs about their jobs; as a process of the node it does not know the cluster's names.
		"--use-kubernetes-proxy")
	// It finds the webhook's certificate below TMPDIR; there is no flag.
	spec.Env = []string{"KUBECONFIG=" + c.kubeconfig("addons"), "ENABLE_WEBHOOKS=true", "TMPDIR=" + c.dir("tmp")}
	return spec
}

// applyCRDs applies the CRDs that the modules of the two controllers ship.
func applyCRDs(ctx context.Context, c Config, k kubectl) error {
	for _, crds := range []struct{ module, dir string }{
		{jobsetModule, "config/components/crd/bases"},
		{kuberayModule, "config/crd/bases"},
	} {
		source, err := moduleDir(ctx, c.Source, crds.module)
		if err != nil {
			return err
		}
		if err := k.run(ctx, "apply", "--server-side", "-f", filepath.Join(source, crds.dir)); err != nil {
			return err
		}
	}
	// NOTE: kubectl wait fails at once on a CRD whose status still has "conditions": null.
	return k.retry(ctx, "wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
}
