// Package devices builds what stands behind the claims of a run (dynamic resource allocation): ComputeDomains of NVIDIA's driver and
// ResourceClaimTemplates.
//
// It promises an object for each claim and cluster that uses it, or one for the run where the claim is shared, all of them named after the
// run, so that two runs never share a domain by accident. It never makes the ResourceClaimTemplate of a ComputeDomain: the driver does, and
// leaves one alone that it finds, which then lacks the domain's id.
package devices

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/pod"
)

// Objects are those of all claims, in the order of the file. Their API versions are fields of the Run, so they have no types here.
func Objects(run *v1alpha1.Run) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for i := range run.Spec.Claims {
		claim := &run.Spec.Claims[i]
		if claim.Shared {
			out = append(out, object(run, claim, "")...)
			continue
		}
		for j := range run.Spec.Clusters {
			if uses(&run.Spec.Clusters[j], claim.Name) {
				out = append(out, object(run, claim, run.Spec.Clusters[j].Name)...)
			}
		}
	}
	return out
}

func uses(cluster *v1alpha1.Cluster, claim string) bool {
	return slices.Contains(cluster.Head.Claims, claim) || slices.ContainsFunc(cluster.Workers, func(w v1alpha1.WorkerGroup) bool {
		return slices.Contains(w.Claims, claim)
	})
}

// object is none where the claim refers to a template that exists.
func object(run *v1alpha1.Run, claim *v1alpha1.Claim, cluster string) []*unstructured.Unstructured {
	name := v1alpha1.ClaimTemplateName(run.Metadata.Name, cluster, claim)
	var version, kind string
	var spec map[string]any
	switch {
	case claim.ComputeDomain != nil:
		version, kind = claim.ComputeDomain.APIVersion, "ComputeDomain"
		spec = map[string]any{
			"numNodes": int64(claim.ComputeDomain.NumNodes),
			"channel":  map[string]any{"resourceClaimTemplate": map[string]any{"name": name}},
		}
	case claim.Devices != nil:
		version, kind = claim.Devices.APIVersion, "ResourceClaimTemplate"
		spec = map[string]any{"spec": map[string]any{"devices": map[string]any{"requests": []any{request(claim)}}}}
	default:
		return nil
	}
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}
	out.SetName(name)
	out.SetNamespace(run.Metadata.Namespace)
	out.SetLabels(pod.Labels(run, cluster, ""))
	return []*unstructured.Unstructured{out}
}

// request is written as each version of resource.k8s.io wants it: v1beta1 knows no alternatives and so no `exactly`.
func request(claim *v1alpha1.Claim) map[string]any {
	devices := map[string]any{"deviceClassName": claim.Devices.DeviceClass, "count": claim.Devices.Count, "allocationMode": "ExactCount"}
	if claim.Devices.APIVersion == "resource.k8s.io/v1beta1" {
		devices["name"] = claim.Name
		return devices
	}
	return map[string]any{"name": claim.Name, "exactly": devices}
}
