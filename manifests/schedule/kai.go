package schedule

import (
	"errors"
	"fmt"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// hasPodGroup: only where one gang spans several owners. KAI makes those of single owners itself.
func (s *Scheduling) hasPodGroup() bool {
	return s.uses(v1alpha1.SchedulerKAI) && s.run.Spec.Scheduling.Gang == v1alpha1.GangRun && s.run.Spec.Backend.OnKubeRay()
}

func (s *Scheduling) member(cluster, segment string) *kai.Member {
	if !s.hasPodGroup() {
		return nil
	}
	return &kai.Member{
		PodGroup: kai.PodGroupName(s.run.Metadata.Namespace, s.run.Metadata.Name),
		SubGroup: kai.SubGroupName(cluster, segment),
		Queue:    s.run.Spec.Scheduling.Queue,
	}
}

func (s *Scheduling) setKAI() error {
	version, err := kai.Parse(s.run.Spec.Scheduling.KAIVersion)
	if err != nil {
		return fmt.Errorf("spec.scheduling.kaiVersion: %w", err)
	}
	s.kai, s.owner = version, s.preemptibility()
	if s.hasPodGroup() {
		member := s.member("", "")
		s.owner = s.owner.with(Marks{Labels: member.OwnerLabels(), Annotations: member.OwnerAnnotations()})
		return nil
	}
	return errors.Join(s.setJobSet(), s.setStaleness())
}

// setJobSet makes the JobSet the gang that is asked for.
func (s *Scheduling) setJobSet() (err error) {
	if s.run.Spec.Backend != v1alpha1.BackendJobSet {
		return nil
	}
	mode := kai.GangPerCluster // one owner, whose pods are those of the whole run
	if s.run.Spec.Scheduling.Gang == v1alpha1.GangNone {
		mode = kai.GangNone
	}
	s.job, err = kai.JobSetMinMember(s.kai, mode, s.pods())
	s.owner = s.owner.with(Marks{Annotations: s.job.Owner})
	if s.kai.Features().JobSet != kai.JobSetTree {
		s.owner = s.owner.with(s.topologyMarks()) // there are no subgroups that could have one of their own
	}
	return err
}

func (s *Scheduling) setStaleness() error {
	grace := s.run.Spec.Scheduling.StalenessGracePeriod
	if grace == nil {
		return nil
	}
	annotations, err := kai.StalenessAnnotations(s.kai, grace.Duration)
	s.owner = s.owner.with(Marks{Annotations: annotations})
	return err
}

// preemptibility is what KAI takes from an owner's labels.
func (s *Scheduling) preemptibility() Marks {
	if preemptible := s.run.Spec.Scheduling.Preemptible; preemptible != nil {
		return Marks{Labels: map[string]string{kai.LabelPreemptibility: string(preemptibility(*preemptible))}}
	}
	return Marks{}
}

func preemptibility(preemptible bool) kai.Preemptibility {
	if preemptible {
		return kai.Preemptible
	}
	return kai.NonPreemptible
}

// pods of the whole run, the driver's among them.
func (s *Scheduling) pods() int32 {
	n := int32(0)
	if s.run.Spec.Backend.DriverHasPod() {
		n++
	}
	for i := range s.run.Spec.Clusters {
		n += clusterPods(&s.run.Spec.Clusters[i])
	}
	return n
}

func clusterPods(c *v1alpha1.Cluster) int32 {
	n := int32(1)
	for i := range c.Workers {
		n += least(&c.Workers[i]) * int32(len(c.Workers[i].Segments()))
	}
	return n
}

// least is how many pods of each segment of a group must start together.
func least(w *v1alpha1.WorkerGroup) int32 {
	if w.Autoscales() {
		return *w.MinReplicas
	}
	return w.Segments()[0].Pods
}

func (s *Scheduling) topologyMarks() Marks {
	if topology := s.topology(); topology != nil {
		return Marks{Annotations: topology.Annotations()}
	}
	return Marks{}
}

// topology of groups with GPUs; nil where the run has none.
func (s *Scheduling) topology() *kai.TopologyConstraint {
	t := s.run.Spec.Scheduling.Topology
	if t == nil {
		return nil
	}
	return &kai.TopologyConstraint{Topology: t.Name, Required: t.Required, Preferred: t.Preferred}
}

func (s *Scheduling) podGroup() (*kai.PodGroup, error) {
	scheduling, run := s.run.Spec.Scheduling, s.run.Metadata
	gang := kai.RunGang{
		Run: run.Name, Namespace: run.Namespace, Labels: v1alpha1.Labels(run.Name, "", ""),
		Queue: scheduling.Queue, PriorityClass: scheduling.PriorityClass,
	}
	if scheduling.Preemptible != nil {
		gang.Preemptibility = preemptibility(*scheduling.Preemptible)
	}
	if scheduling.StalenessGracePeriod != nil {
		gang.Staleness = &scheduling.StalenessGracePeriod.Duration
	}
	for i := range s.run.Spec.Clusters {
		gang.Clusters = append(gang.Clusters, s.gangCluster(&s.run.Spec.Clusters[i]))
	}
	return kai.NewPodGroup(s.kai, gang)
}

// gangCluster lists the groups of a cluster, and the driver's pod with the cluster that it is submitted to. That pod is optional where it
// may end while the others go on: a driver that is submitted again, and any where KAI would take a pod that succeeded for a lost one.
func (s *Scheduling) gangCluster(c *v1alpha1.Cluster) kai.GangCluster {
	out := kai.GangCluster{Name: c.Name, Groups: []kai.GangGroup{{Name: v1alpha1.GroupHead, Min: 1}}}
	for i := range c.Workers {
		worker := &c.Workers[i]
		for _, segment := range worker.Segments() {
			group := kai.GangGroup{Name: segment.Name, Min: least(worker)}
			if worker.GPUs > 0 {
				group.Topology = s.topology()
			}
			out.Groups = append(out.Groups, group)
		}
	}
	if s.run.Spec.Backend.DriverHasPod() && c.Name == s.run.Spec.Driver.Cluster {
		driver := kai.GangGroup{Name: v1alpha1.GroupDriver, Min: 1}
		if s.run.Spec.Driver.Retries > 0 || s.run.Spec.Failure.Restarts() > 0 || s.kai.Features().TerminalPodsHidden {
			driver.Min = 0
		}
		out.Groups = append(out.Groups, driver)
	}
	return out
}
