package importer

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

// renderedByNRL are the objects that nrl-k8s makes of an infra file: RayClusters with its labels, its image in every container, its
// secrets and account in every pod, groups split into segments, and the devices that worker groups claim by the names it knows.
func renderedByNRL(t *testing.T, o *object) []map[string]any {
	t.Helper()
	value, err := interpolate(o.root, options.User)
	require.NoError(t, err)
	infra := value.(map[string]any)
	var out []map[string]any
	for _, role := range roles {
		cluster, is := infra["kuberay"].(map[string]any)[role].(map[string]any)
		if !is {
			continue
		}
		out = append(out, nrlCluster(infra, cluster, role)...)
	}
	return out
}

func nrlCluster(infra, cluster map[string]any, role string) []map[string]any {
	name := cluster["name"].(string)
	labels := map[string]any{"app.kubernetes.io/managed-by": "nrl-k8s"}
	for _, from := range []any{infra["labels"], cluster["labels"]} {
		if more, is := from.(map[string]any); is {
			maps.Copy(labels, more)
		}
	}
	spec := cluster["spec"].(map[string]any)
	metadata := map[string]any{"name": name, "labels": labels}
	if annotations, is := cluster["annotations"]; is {
		metadata["annotations"] = annotations
	}
	nrlPod(infra, spec["headGroupSpec"].(map[string]any), labels, name, role)
	var groups []any
	for _, group := range spec["workerGroupSpecs"].([]any) {
		nrlPod(infra, group.(map[string]any), labels, name, role)
		groups = append(groups, nrlSegments(group.(map[string]any), cluster["segmentSize"])...)
	}
	spec["workerGroupSpecs"] = groups
	return []map[string]any{
		{
			"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain",
			"metadata": map[string]any{"name": "compute-domain-" + name + "-" + role},
			"spec": map[string]any{
				"numNodes": 0,
				"channel":  map[string]any{"resourceClaimTemplate": map[string]any{"name": "compute-domain-" + name + "-" + role}},
			},
		},
		{
			"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
			"metadata": map[string]any{"name": "roce-" + name + "-" + role},
			"spec": map[string]any{"spec": map[string]any{"devices": map[string]any{"requests": []any{
				map[string]any{"name": "roce", "exactly": map[string]any{"count": roceCount, "deviceClassName": roceClass}},
			}}}},
		},
		{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec},
	}
}

// nrlPod changes a group's pod in place.
func nrlPod(infra, group, labels map[string]any, name, role string) {
	template := group["template"].(map[string]any)
	metadata, is := template["metadata"].(map[string]any)
	if !is {
		metadata = map[string]any{}
		template["metadata"] = metadata
	}
	metadata["labels"] = maps.Clone(labels)
	spec := template["spec"].(map[string]any)
	spec["serviceAccountName"] = infra["serviceAccount"]
	var secrets []any
	for _, secret := range infra["imagePullSecrets"].([]any) {
		secrets = append(secrets, map[string]any{"name": secret})
	}
	spec["imagePullSecrets"] = secrets
	for _, container := range spec["containers"].([]any) {
		container.(map[string]any)["image"] = infra["image"]
	}
	claims, _ := spec["resourceClaims"].([]any)
	for _, claim := range claims {
		prefix := map[any]string{computeDomainClaim: "compute-domain-", roceClaim: "roce-"}[claim.(map[string]any)["name"]]
		if prefix != "" {
			claim.(map[string]any)["resourceClaimTemplateName"] = prefix + name + "-" + role
		}
	}
}

func nrlSegments(group map[string]any, size any) []any {
	replicas, isSplit := group["replicas"].(int)
	number, _ := size.(int)
	if !isSplit || number == 0 || replicas <= number {
		return []any{group}
	}
	var out []any
	for i := range replicas / number {
		segment := maps.Clone(group)
		segment["groupName"] = fmt.Sprintf("%v-segment-%d", group["groupName"], i)
		segment["replicas"], segment["minReplicas"], segment["maxReplicas"] = number, number, number
		out = append(out, segment)
	}
	return out
}
