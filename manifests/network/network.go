// Package network builds the NetworkPolicy of a run: who may open connections to its pods.
//
// It promises that Ray's ports, the registry's and all others are open to pods of the same run alone, with two exceptions: anybody may
// scrape Ray's metrics, and KubeRay's operator may reach the dashboards, which it submits jobs to and asks for their state. It says nothing
// about connections that the pods open themselves. The kubelet's probes come from the node, which no network plugin keeps out.
package network

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/pod"
)

// kubeRayOperator is the label of the operator's pods in KubeRay's chart (kuberay-operator 1.6, templates/_helpers.tpl).
var kubeRayOperator = map[string]string{"app.kubernetes.io/name": "kuberay-operator"}

// Policy of the run; nil if it wants none.
func Policy(run *v1alpha1.Run) *networkingv1ac.NetworkPolicyApplyConfiguration {
	if !run.Spec.NetworkPolicy {
		return nil
	}
	own := metav1ac.LabelSelector().WithMatchLabels(map[string]string{v1alpha1.LabelRun: run.Metadata.Name})
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(own).
		WithPolicyTypes(networkingv1.PolicyTypeIngress).
		WithIngress(
			networkingv1ac.NetworkPolicyIngressRule().WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(own)),
			networkingv1ac.NetworkPolicyIngressRule().WithFrom(anywhere()).WithPorts(tcp(v1alpha1.MetricsPort)))
	if run.Spec.Backend.OnKubeRay() {
		spec.WithIngress(networkingv1ac.NetworkPolicyIngressRule().
			WithFrom(anywhere().WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(kubeRayOperator))).
			WithPorts(dashboards(run)...))
	}
	return networkingv1ac.NetworkPolicy(v1alpha1.NetworkPolicyName(run.Metadata.Name), run.Metadata.Namespace).
		WithLabels(pod.Labels(run, "", "")).
		WithSpec(spec)
}

// anywhere is every pod of every namespace.
func anywhere() *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(metav1ac.LabelSelector())
}

// dashboards are the ports of all heads, each once.
func dashboards(run *v1alpha1.Run) []*networkingv1ac.NetworkPolicyPortApplyConfiguration {
	seen := map[int32]bool{}
	var out []*networkingv1ac.NetworkPolicyPortApplyConfiguration
	for _, cluster := range run.Spec.Clusters {
		if port := cluster.Ports.Dashboard; !seen[port] {
			seen[port] = true
			out = append(out, tcp(port))
		}
	}
	return out
}

func tcp(port int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port))
}
