package schedule

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	schedulingac "k8s.io/client-go/applyconfigurations/scheduling/v1alpha1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/workload"
)

func (s *Scheduling) hasWorkload() bool {
	return s.uses(v1alpha1.SchedulerWorkload) && s.run.Spec.Scheduling.Gang != v1alpha1.GangNone
}

// WorkloadRef ties the pods of a cluster, the driver's among them, to the run's Workload; nil where there is none.
func (s *Scheduling) WorkloadRef(cluster string) *corev1ac.WorkloadReferenceApplyConfiguration {
	switch {
	case !s.hasWorkload():
		return nil
	case s.run.Spec.Scheduling.Gang == v1alpha1.GangRun:
		cluster = workload.WholeRun
	}
	return workload.Ref(v1alpha1.WorkloadName(s.run.Metadata.Name), cluster)
}

func (s *Scheduling) workload() (*schedulingac.WorkloadApplyConfiguration, error) {
	run := s.run.Metadata
	return workload.Build(workload.Workload{
		Name: v1alpha1.WorkloadName(run.Name), Namespace: run.Namespace,
		Labels: v1alpha1.Labels(run.Name, "", ""), Groups: s.workloadGroups(),
	})
}

func (s *Scheduling) workloadGroups() []workload.Group {
	if s.run.Spec.Scheduling.Gang == v1alpha1.GangRun {
		return []workload.Group{{Name: workload.WholeRun, MinCount: s.pods()}}
	}
	var out []workload.Group
	for i := range s.run.Spec.Clusters {
		cluster := &s.run.Spec.Clusters[i]
		pods := clusterPods(cluster)
		if s.run.Spec.Backend.DriverHasPod() && cluster.Name == s.run.Spec.Driver.Cluster {
			pods++
		}
		out = append(out, workload.Group{Name: cluster.Name, MinCount: pods})
	}
	return out
}
