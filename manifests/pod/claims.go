package pod

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// resourceClaims are the devices of the pod.
func (g Group) resourceClaims() []*corev1ac.PodResourceClaimApplyConfiguration {
	var out []*corev1ac.PodResourceClaimApplyConfiguration
	for _, name := range g.Spec.Claims {
		if claim := g.Run.Claim(name); claim != nil {
			out = append(out, corev1ac.PodResourceClaim().
				WithName(name).
				WithResourceClaimTemplateName(v1alpha1.ClaimTemplateName(g.Run.Metadata.Name, g.Cluster.Name, claim)))
		}
	}
	return out
}

// containerClaims let the Ray container use them.
func (g Group) containerClaims() []*corev1ac.ResourceClaimApplyConfiguration {
	var out []*corev1ac.ResourceClaimApplyConfiguration
	for _, name := range g.Spec.Claims {
		out = append(out, corev1ac.ResourceClaim().WithName(name))
	}
	return out
}
