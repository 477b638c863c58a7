package importer

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Labels and annotations by which schedulers know a workload.
const (
	kueueQueue        = "kueue.x-k8s.io/queue-name"
	kaiTopology       = "kai.scheduler/topology"
	kaiRequired       = "kai.scheduler/topology-required-placement"
	kaiPreferred      = "kai.scheduler/topology-preferred-placement"
	kaiPreemptibility = "kai.scheduler/preemptibility"
	priorityLabel     = "priorityClassName"
	kaiScheduler      = "kai-scheduler"
	// noQueue is where KAI puts pods without a queue.
	noQueue = "default-queue"
)

// readQueue takes the queue of an object or a pod.
func (m *maker) readQueue(labels node) {
	for _, label := range []string{v1alpha1.LabelKAIQueue, kueueQueue} {
		if at := labels.at(label); at.there {
			m.queues = append(m.queues, placeOf(at))
			if label == kueueQueue {
				m.run.Spec.Scheduling.Scheduler = v1alpha1.SchedulerKueue
			}
		}
	}
	labels.at(v1alpha1.LabelManagedBy).drop("tandem labels what it makes itself")
}

// schedulerLabels are those of a workload that are no labels of the user's.
var schedulerLabels = []string{v1alpha1.LabelKAIQueue, kueueQueue, priorityLabel, kaiPreemptibility}

// readObjectLabels reads those of a workload that are for a scheduler.
func (m *maker) readObjectLabels(labels node) {
	m.readQueue(labels)
	if class := labels.at(priorityLabel); class.there {
		m.run.Spec.Scheduling.PriorityClass = class.text()
	}
	switch preempt := labels.at(kaiPreemptibility); {
	case preempt.is("preemptible"):
		m.run.Spec.Scheduling.Preemptible = new(true)
	case preempt.is("non-preemptible"):
		m.run.Spec.Scheduling.Preemptible = new(false)
	default:
		preempt.drop("it must be preemptible or non-preemptible")
	}
}

func (m *maker) readObjectMetadata(metadata node) {
	m.readObjectLabels(metadata.at("labels"))
	metadata.at("name").drop(ownName)
	if namespace := metadata.at("namespace"); namespace.there {
		m.readNamespace(namespace)
	}
	metadata.at("annotations", overwriteCommand).drop(ownCommand)
	metadata.drop("only pods have labels and annotations of the user's (podTemplate.metadata)")
}

func (m *maker) readNamespace(n node) {
	name := n.text()
	have := &m.run.Metadata.Namespace
	if *have != "" && *have != name {
		n.dropPart(name, "a run is in one namespace, "+*have)
		return
	}
	*have = name
}

// topology is where a group has its pods, and the annotations that say so.
type topology struct {
	v1alpha1.Topology
	annotations map[string]any
}

func readTopology(annotations node) *topology {
	name := annotations.at(kaiTopology)
	if !name.there {
		return nil
	}
	out := &topology{annotations: map[string]any{}}
	for _, key := range []string{kaiTopology, kaiRequired, kaiPreferred} {
		if at := annotations.at(key); at.there {
			out.annotations[key] = at.text()
		}
	}
	out.Name, _ = out.annotations[kaiTopology].(string)
	out.Required, _ = out.annotations[kaiRequired].(string)
	out.Preferred, _ = out.annotations[kaiPreferred].(string)
	return out
}

// settleScheduling chooses the scheduler, the queue and the topology of the run.
func (m *maker) settleScheduling() {
	s := &m.run.Spec.Scheduling
	m.settleScheduler(s)
	m.settleQueue(s)
	m.settleTopology(s)
}

func (m *maker) settleScheduler(s *v1alpha1.Scheduling) {
	name := m.settle(func(p *part) place { return p.scheduler }, func(_ *part, other place) {
		other.node.dropPart(other.value, "one scheduler places the pods of a run (scheduling.scheduler)")
	})
	switch name {
	case "", corev1.DefaultSchedulerName:
	case kaiScheduler:
		s.Scheduler = v1alpha1.SchedulerKAI
	default:
		m.need("spec.scheduling", "the pods were placed by %s, which the Run file does not know", name)
		for _, p := range m.parts {
			if p.scheduler.value == name {
				p.scheduler.node.dropPart(name, "the Run file knows the schedulers default, kai, kueue and workload")
			}
		}
	}
}

func (m *maker) settleQueue(s *v1alpha1.Scheduling) {
	for _, q := range m.queues {
		switch {
		case s.Scheduler == "":
			q.node.dropPart(q.value, "no pod is placed by a scheduler that has queues")
		case s.Queue == "":
			s.Queue = q.value
		case s.Queue != q.value:
			q.node.dropPart(q.value, "a run has one queue, "+s.Queue)
		}
	}
	if s.Scheduler == v1alpha1.SchedulerKAI && s.Queue == "" {
		s.Queue = noQueue
		m.need("spec.scheduling.queue", "no label of the files names a queue, so KAI has used %s: name a leaf queue", noQueue)
	}
}

// settleTopology takes over what all groups with GPUs agree on. Else each keeps its annotations.
func (m *maker) settleTopology(s *v1alpha1.Scheduling) {
	var shared *topology
	agreed := s.Scheduler == v1alpha1.SchedulerKAI
	for _, p := range m.parts {
		isGPU := p.group.GPUs > 0 && !p.isHead() && !p.isDriver()
		switch {
		case !isGPU:
			agreed = agreed && p.topology == nil
		case p.topology == nil:
			agreed = false
		case shared == nil:
			shared = p.topology
		default:
			agreed = agreed && shared.Topology == p.topology.Topology
		}
	}
	if agreed && shared != nil {
		s.Topology = &shared.Topology
		return
	}
	for _, p := range m.parts {
		if p.topology != nil {
			p.overlay.merge(map[string]any(p.topology.annotations), "metadata", "annotations")
			m.need("spec.scheduling", "group %s/%s keeps its topology annotations, since not all groups with GPUs have the same; "+
				"where one PodGroup holds the run, only scheduling.topology counts", p.cluster, p.name)
		}
	}
}
