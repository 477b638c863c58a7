//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

const shipped = `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating-webhook-configuration}
webhooks:
- name: mjobset.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-jobset}}
  rules: [{apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: [CREATE], resources: [jobsets]}]
- name: mpod.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-pod}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vjobset.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-jobset}}
`

func TestShippedWebhooksPointAtTheNode(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(ca, []byte("the CA"), 0o644))
	decode := func(out []byte) (list []admissionv1.MutatingWebhookConfiguration) {
		for doc := range strings.SplitSeq(strings.TrimPrefix(string(out), "---\n"), "---\n") {
			var config admissionv1.MutatingWebhookConfiguration
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &config))
			list = append(list, config)
		}
		return list
	}

	out, err := webhookManifests(shipped, "jobset", 9444, "", ca)
	require.NoError(t, err)
	configs := decode(out)
	require.Len(t, configs, 2)
	require.Equal(t, "MutatingWebhookConfiguration jobset-mutating-webhook-configuration", configs[0].Kind+" "+configs[0].Name)
	require.Equal(t, "ValidatingWebhookConfiguration jobset-validating-webhook-configuration", configs[1].Kind+" "+configs[1].Name)
	jobset, pod := configs[0].Webhooks[0], configs[0].Webhooks[1]
	require.Equal(t, "https://198.19.255.1:9444/mutate-jobset", *jobset.ClientConfig.URL)
	require.Nil(t, jobset.ClientConfig.Service)
	require.Equal(t, "the CA", string(jobset.ClientConfig.CABundle))
	require.Equal(t, []string{"jobsets"}, jobset.Rules[0].Resources)
	require.Nil(t, jobset.ObjectSelector)
	require.Equal(t, jobsetPods(), pod.ObjectSelector, "or no pod could be made while JobSet's controller is down")

	out, err = webhookManifests(shipped, "kuberay", 9443, "mpod", ca)
	require.NoError(t, err)
	require.Len(t, decode(out)[0].Webhooks, 1)
	require.Empty(t, decode(out)[1].Webhooks)

	_, err = webhookManifests(shipped, "jobset", 9444, "", "/nowhere/ca.crt")
	require.ErrorIs(t, err, os.ErrNotExist)
}
