package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// judgeQueue looks at the queue and all its ancestors: a limit holds for what is below it.
func (p *Plan) judgeQueue(s *Sight) {
	about := "queue " + p.Queue
	if s.Queues.Err != nil {
		p.cannotTell(about, s.Queues.Err)
		return
	}
	chain, broken := chainOf(s.Queues.Value, p.Queue)
	switch {
	case len(chain) == 0:
		p.find(Missing, about, "there is none; kubectl get queues.scheduling.run.ai lists those that there are")
		return
	case broken != "":
		p.find(Missing, about, "%s, so KAI leaves the queue out", broken)
		return
	}
	for _, other := range s.Queues.Value {
		if other.Spec.ParentQueue == p.Queue {
			p.find(Refused, about, "has queues below it (%s), and only leaves take pods; name one of them", other.Metadata.Name)
			return
		}
	}
	before := len(p.Findings)
	want := p.ofKAI()
	for _, queue := range chain {
		p.judgeShares(s, &queue, want)
	}
	if !slices.ContainsFunc(p.Findings[before:], func(f Finding) bool { return f.State.Blocks() }) {
		p.find(OK, about, "has room: %s", roomOf(&chain[0], want, p.own(s)))
	}
}

// chainOf is a queue and its ancestors, and what is wrong with them.
func chainOf(queues []QueueSeen, name string) (chain []QueueSeen, broken string) {
	for name != "" {
		i := slices.IndexFunc(queues, func(q QueueSeen) bool { return q.Metadata.Name == name })
		switch {
		case i < 0 && len(chain) > 0:
			return chain, fmt.Sprintf("its ancestor %s does not exist", name)
		case i < 0:
			return nil, ""
		case slices.ContainsFunc(chain, func(q QueueSeen) bool { return q.Metadata.Name == name }):
			return chain, "is its own ancestor"
		}
		chain = append(chain, queues[i])
		name = queues[i].Spec.ParentQueue
	}
	return chain, ""
}

// ofKAI is what the pods ask for that KAI places, in what its queues count.
func (p *Plan) ofKAI() Resources {
	want := Resources{}
	for i := range p.crews {
		c := &p.crews[i]
		if c.template.Spec.SchedulerName != "" && c.template.Spec.SchedulerName != corev1.DefaultSchedulerName {
			want.add(c.each, int64(c.pods))
		}
	}
	return want
}

// shares are what queues share out, with what their numbers count (facts of KAI's proportion plugin: thousandths, 10^6 bytes, devices).
var shares = []struct {
	name corev1.ResourceName
	unit float64 // of the queue's numbers in ours
	of   func(kai.QueueResources) kai.QueueResource
}{
	{v1alpha1.ResourceGPU, 1, func(r kai.QueueResources) kai.QueueResource { return r.GPU }},
	{corev1.ResourceMemory, 1e6, func(r kai.QueueResources) kai.QueueResource { return r.Memory }},
	{corev1.ResourceCPU, 1, func(r kai.QueueResources) kai.QueueResource { return r.CPU }},
}

func (p *Plan) judgeShares(s *Sight, queue *QueueSeen, want Resources) {
	about := "queue " + queue.Metadata.Name
	own := p.own(s)
	allocated, fixed := less(resourcesOf(queue.Status.Allocated), own), less(resourcesOf(queue.Status.AllocatedNonPreemptible), own)
	for _, share := range shares {
		wanted, of := want[share.name], share.of(queue.Spec.Resources)
		if wanted == 0 {
			continue
		}
		limit, quota := int64(of.Limit*share.unit), int64(of.Quota*share.unit)
		amount := func(n int64) string { return amountOf(share.name, n) }
		switch {
		case of.Limit == 0:
			p.find(Short, about, "%s: the limit is 0 or missing, so nothing runs; -1 is no limit", share.name)
		case of.Limit != kai.Unlimited && allocated[share.name]+wanted > limit:
			p.find(Short, about, "%s: the run wants %s, and %s of the limit of %s are taken", share.name, amount(wanted), amount(allocated[share.name]), amount(limit))
		case of.Quota == kai.Unlimited:
		case p.staysPut(s) && fixed[share.name]+wanted > quota:
			p.find(Short, about, "%s: the run cannot be preempted, so it must fit the quota: it wants %s, and %s of %s are taken",
				share.name, amount(wanted), amount(fixed[share.name]), amount(quota))
		case allocated[share.name]+wanted > quota:
			p.find(Warning, about, "%s: the run wants %s, and %s of the quota of %s are taken: what is over it may be taken down for others",
				share.name, amount(wanted), amount(allocated[share.name]), amount(quota))
		}
	}
}

// nonPreemptibleFrom is the priority from which on KAI preempts nothing.
const nonPreemptibleFrom = 100

// staysPut tells whether the run may not be preempted.
func (p *Plan) staysPut(s *Sight) bool {
	scheduling := p.run.Spec.Scheduling
	if scheduling.Preemptible != nil {
		return !*scheduling.Preemptible
	}
	class := s.Refs[kindPriorityClass+" "+scheduling.PriorityClass]
	if class.Value == nil || class.Err != nil {
		return false
	}
	value, found, err := unstructured.NestedInt64(class.Value.Object, "value")
	return found && err == nil && value >= nonPreemptibleFrom
}

// roomOf is the GPUs of the queue itself, which is what people ask for.
func roomOf(queue *QueueSeen, want, own Resources) string {
	gpu, allocated := queue.Spec.Resources.GPU, less(resourcesOf(queue.Status.Allocated), own)[v1alpha1.ResourceGPU]
	text := fmt.Sprintf("the run wants %d GPUs, %d are taken, ", want[v1alpha1.ResourceGPU], allocated)
	if gpu.Limit == kai.Unlimited {
		return text + "no limit"
	}
	return fmt.Sprintf("%slimit %g", text, gpu.Limit)
}

func (p *Plan) judgeLocalQueue(s *Sight) {
	about := "local queue " + p.Queue
	switch err := s.LocalQueue.Err; {
	case apierrors.IsNotFound(err):
		p.find(Missing, about, "there is none in namespace %s, or no Kueue; kubectl get localqueues -n %s", p.Namespace, p.Namespace)
	case err != nil:
		p.cannotTell(about, err)
	default:
		p.find(OK, about, "is there; what its ClusterQueue has left is not looked at")
	}
}

// judgeTopology looks for the level in the Topology.
func (p *Plan) judgeTopology(s *Sight) {
	wanted := p.run.Spec.Scheduling.Topology
	if wanted == nil {
		return
	}
	about := "topology " + wanted.Name
	switch err := s.Topology.Err; {
	case apierrors.IsNotFound(err):
		p.find(Missing, about, "there is none, so KAI never starts the run; kubectl get topologies.kai.scheduler")
		return
	case err != nil:
		p.cannotTell(about, err)
		return
	}
	var levels []string
	for _, level := range s.Topology.Value.Spec.Levels {
		levels = append(levels, level.NodeLabel)
	}
	for _, level := range []string{wanted.Required, wanted.Preferred} {
		if level != "" && !slices.ContainsFunc(s.Topology.Value.Spec.Levels, func(l kai.TopologyLevel) bool { return l.NodeLabel == level || l.Alias == level }) {
			p.find(Missing, about, "has no level %s, only %s", level, strings.Join(levels, ", "))
			return
		}
	}
	p.find(OK, about, "has the levels %s", strings.Join(levels, ", "))
	for _, object := range p.objects {
		if level := object.GetAnnotations()[kai.AnnotationTopologyRequired]; level != "" {
			p.find(Warning, about, "KAI %s keeps all pods of %s %s within one %s, not group by group; the check of nodes does not know",
				p.run.Spec.Scheduling.KAIVersion, object.GetKind(), object.GetName(), level)
		}
	}
}
