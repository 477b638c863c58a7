package plan

import (
	"cmp"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// room is a node with what is left of it.
type room struct {
	node  *corev1.Node
	whole Resources // allocatable
	free  Resources // less what running pods ask for
	// shared tells that other groups of the run have been placed here.
	shared bool
}

// rooms are the nodes with what the pods on them leave; those of the run itself are not counted.
func (p *Plan) rooms(nodes []corev1.Node, pods []corev1.Pod) []*room {
	out, byName := make([]*room, len(nodes)), map[string]*room{}
	for i := range nodes {
		whole := resourcesOf(nodes[i].Status.Allocatable)
		free := Resources{}
		free.add(whole, 1)
		out[i] = &room{node: &nodes[i], whole: whole, free: free}
		byName[nodes[i].Name] = out[i]
	}
	for i := range pods {
		r := byName[pods[i].Spec.NodeName]
		if r == nil || p.isOwn(&pods[i]) {
			continue
		}
		r.free.add(onNode(&pods[i]), -1)
	}
	slices.SortFunc(out, func(a, b *room) int { return cmp.Compare(a.node.Name, b.node.Name) })
	return out
}

// isOwn tells whether a pod is of the run itself, which is up already.
func (p *Plan) isOwn(pod *corev1.Pod) bool {
	return pod.Namespace == p.Namespace && pod.Labels[v1alpha1.LabelRun] == p.Run
}

// own is what the run holds already.
func (p *Plan) own(s *Sight) Resources {
	out := Resources{}
	for i := range s.Pods.Value {
		if p.isOwn(&s.Pods.Value[i]) {
			out.add(onNode(&s.Pods.Value[i]), 1)
		}
	}
	return out
}

// less takes what is there of other away.
func less(r, other Resources) Resources {
	for name := range r {
		r[name] = max(0, r[name]-other[name])
	}
	return r
}

// onNode is what a pod takes of its node; each is one of the pods that the node may have.
func onNode(pod *corev1.Pod) Resources {
	taken := resourcesOf(podresources.PodRequests(pod, podresources.PodResourcesOptions{}))
	taken[corev1.ResourcePods] = 1
	return taken
}

// fits is how many pods of that size fit what is left.
func fits(free, each Resources) int64 {
	most := int64(-1)
	for name, amount := range each {
		if amount <= 0 {
			continue
		}
		if n := max(0, free[name]) / amount; most < 0 || n < most {
			most = n
		}
	}
	return max(0, most)
}

// unfit says why the node takes none of the crew's pods whatever is free on it; "" if it does.
func (r *room) unfit(c *crew) string {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: c.template.Labels}, Spec: c.template.Spec}
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(r.node); err != nil || !matches {
		return "not selected"
	}
	if r.node.Spec.Unschedulable {
		return "cordoned"
	}
	blocking := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	if taint, found := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), r.node.Spec.Taints, pod.Spec.Tolerations, blocking, false); found {
		return "tainted " + taint.ToString()
	}
	for _, condition := range r.node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return "not ready"
		}
	}
	return ""
}

// perNode is how many pods of the crew a node takes at most, whatever is free: one if they want the same ports of the node.
func (c *crew) perNode() int64 {
	spec := &c.template.Spec
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, port := range container.Ports {
			if port.HostPort > 0 || spec.HostNetwork {
				return 1
			}
		}
	}
	return int64(c.pods)
}
