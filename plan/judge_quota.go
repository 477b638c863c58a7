package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// judgeQuotas holds the run against the ResourceQuotas of its namespace, which count requests and pods. Those with a scope are left out:
// whether they count a pod is not for this estimate.
func (p *Plan) judgeQuotas(s *Sight) {
	if s.Quotas.Err != nil {
		p.cannotTell("resource quotas", s.Quotas.Err)
		return
	}
	for _, quota := range s.Quotas.Value {
		if len(quota.Spec.Scopes) > 0 || quota.Spec.ScopeSelector != nil {
			continue
		}
		hard, used := resourcesByCounted(quota.Status.Hard), less(resourcesByCounted(quota.Status.Used), p.own(s))
		for _, name := range hard.names() {
			wanted := p.Total[name]
			if name == corev1.ResourcePods {
				wanted = int64(p.Pods)
			}
			if wanted > 0 && used[name]+wanted > hard[name] {
				p.find(Short, "resource quota "+quota.Name, "%s: the run wants %s, and %s of %s are taken", name,
					amountOf(name, wanted), amountOf(name, used[name]), amountOf(name, hard[name]))
			}
		}
	}
}

// resourcesByCounted reads the names of a ResourceQuota that count requests: cpu and requests.cpu are the same.
func resourcesByCounted(list corev1.ResourceList) Resources {
	plain := corev1.ResourceList{}
	for name, quantity := range list {
		if strings.HasPrefix(string(name), "limits.") || strings.HasPrefix(string(name), "count/") {
			continue
		}
		plain[corev1.ResourceName(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix))] = quantity
	}
	return resourcesOf(plain)
}
