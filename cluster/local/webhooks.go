//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// webhookCertificates puts the webhooks' certificate where controller-runtime looks for it.
func webhookCertificates(c Config) error {
	dir := c.dir("tmp", "k8s-webhook-server", "serving-certs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{"webhook.crt": "tls.crt", "webhook.key": "tls.key"} {
		data, err := os.ReadFile(c.pki(from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// applyWebhooks registers the admission webhooks that the modules ship. What is changed in them: the name, which
// kustomize would prefix; and the address, which is the node's, as the controllers are processes and not pods.
func applyWebhooks(ctx context.Context, c Config, k kubectl) error {
	for _, w := range []struct {
		prefix, module, file string
		port                 int
		keep                 string // only webhooks whose name begins so
	}{
		{"jobset", jobsetModule, "config/components/webhook/manifests.yaml", jobsetWebhookPort, ""},
		// KubeRay 1.6's main registers only the webhook of RayCluster.
		{"kuberay", kuberayModule, "config/webhook/manifests.yaml", kuberayWebhookPort, "vraycluster"},
	} {
		source, err := moduleDir(ctx, c.Source, w.module)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(source, w.file))
		if err != nil {
			return err
		}
		out, err := webhookManifests(string(data), w.prefix, w.port, w.keep, c.pki("ca.crt"))
		if err != nil {
			return fmt.Errorf("%s of %s: %w", w.file, w.module, err)
		}
		file := c.dir(w.prefix + "-webhooks.yaml")
		if err := os.WriteFile(file, out, 0o644); err != nil {
			return err
		}
		if err := k.run(ctx, "apply", "--server-side", "-f", file); err != nil {
			return err
		}
	}
	return nil
}

func webhookManifests(data, prefix string, port int, keep, caFile string) ([]byte, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	var out []byte
	for doc := range strings.SplitSeq(data, "\n---\n") {
		// Both kinds have the same shape as far as it is touched here.
		var config admissionv1.MutatingWebhookConfiguration
		if err := yaml.Unmarshal([]byte(strings.TrimPrefix(doc, "---\n")), &config); err != nil {
			return nil, err
		}
		config.Name = prefix + "-" + config.Name
		kept := config.Webhooks[:0]
		for _, hook := range config.Webhooks {
			if !strings.HasPrefix(hook.Name, keep) {
				continue
			}
			if path := hook.ClientConfig.Service.Path; path != nil {
				url := fmt.Sprintf("https://%s:%d%s", nodeAddress, port, *path)
				hook.ClientConfig = admissionv1.WebhookClientConfig{URL: &url, CABundle: ca}
			}
			if strings.HasSuffix(hook.Name, "pod.kb.io") {
				hook.ObjectSelector = jobsetPods()
			}
			kept = append(kept, hook)
		}
		config.Webhooks = kept
		text, err := yaml.Marshal(config)
		if err != nil {
			return nil, err
		}
		out = append(append(out, "---\n"...), text...)
	}
	return out, nil
}

// jobsetPods is the selector that JobSet's kustomize patches put on its Pod webhooks (config/components/webhook).
func jobsetPods() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "jobset.sigs.k8s.io/jobset-name", Operator: metav1.LabelSelectorOpExists},
	}}
}
