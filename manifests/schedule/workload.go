package schedule

import (
	"fmt"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	schedulingv1alpha1ac "k8s.io/client-go/applyconfigurations/scheduling/v1alpha1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// maxWorkloadGroups is how many groups a Workload may have (Kubernetes 1.35, scheduling.k8s.io/v1alpha1).
const maxWorkloadGroups = 8

func (s *Scheduling) hasWorkload() bool {
	return s.uses(v1alpha1.SchedulerWorkload) && s.run.Spec.Scheduling.Gang != v1alpha1.GangNone
}

// WorkloadRef ties the pods of a cluster to the run's Workload; nil where there is none. All pods of a gang are in one group of the
// Workload: the scheduler waits for each group by itself (KEP-4671 in Kubernetes 1.35, plugin GangScheduling).
func (s *Scheduling) WorkloadRef(cluster string) *corev1ac.WorkloadReferenceApplyConfiguration {
	if !s.hasWorkload() {
		return nil
	}
	return corev1ac.WorkloadReference().WithName(v1alpha1.WorkloadName(s.run.Metadata.Name)).WithPodGroup(s.workloadGroup(cluster))
}

func (s *Scheduling) workloadGroup(cluster string) string {
	if s.run.Spec.Scheduling.Gang == v1alpha1.GangRun {
		return "run"
	}
	return cluster
}

func (s *Scheduling) workload() (*schedulingv1alpha1ac.WorkloadApplyConfiguration, error) {
	run := s.run.Metadata
	spec := schedulingv1alpha1ac.WorkloadSpec()
	if s.run.Spec.Scheduling.Gang == v1alpha1.GangRun {
		spec.WithPodGroups(workloadGang("run", s.pods()))
	} else {
		if n := len(s.run.Spec.Clusters); n > maxWorkloadGroups {
			return nil, fmt.Errorf("spec.scheduling.gang: %d clusters, and a Workload has at most %d groups: write gang: run", n, maxWorkloadGroups)
		}
		for i := range s.run.Spec.Clusters {
			cluster := &s.run.Spec.Clusters[i]
			pods := clusterPods(cluster)
			if s.run.Spec.Backend.DriverHasPod() && cluster.Name == s.run.Spec.Driver.Cluster {
				pods++
			}
			spec.WithPodGroups(workloadGang(cluster.Name, pods))
		}
	}
	return schedulingv1alpha1ac.Workload(v1alpha1.WorkloadName(run.Name), run.Namespace).
		WithLabels(v1alpha1.Labels(run.Name, "", "")).
		WithSpec(spec), nil
}

func workloadGang(name string, pods int32) *schedulingv1alpha1ac.PodGroupApplyConfiguration {
	return schedulingv1alpha1ac.PodGroup().WithName(name).WithPolicy(
		schedulingv1alpha1ac.PodGroupPolicy().WithGang(schedulingv1alpha1ac.GangSchedulingPolicy().WithMinCount(pods)))
}
