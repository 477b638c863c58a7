// Package workload renders gangs for Kubernetes' own scheduler: the Workload API, alpha in Kubernetes 1.35.
//
// It promises objects that the API server takes, and refuses what it would not. What the scheduler then does with them, read in its
// plugin GangScheduling and tried in this package's tests:
//
//   - A gang is one pod group, not a Workload: each group counts its own pods. One gang over several clusters is therefore one group
//     that the pods of all clusters name; a group for each cluster gives a gang each.
//   - No pod of a group is looked at before MinCount of them exist, and none is bound before MinCount of them have a place. While they
//     wait their places are taken, for 5 minutes at most: two gangs that each hold half of a cluster give up and try again.
//   - Pods beyond MinCount start when they can. Owners do not count: pods of any RayCluster, JobSet or Job in the namespace may join.
//   - Nothing is evicted when a gang loses pods later. But pods that have ended do not count, so that a pod which is made again after
//     others succeeded waits for ever: Jobs in a gang need backoffLimit 0.
//
// Four settings are needed, and without them the API server drops workloadRef without a word and every pod starts alone:
//
//	kube-apiserver --feature-gates=GenericWorkload=true --runtime-config=scheduling.k8s.io/v1alpha1=true
//	kube-scheduler --feature-gates=GenericWorkload=true,GangScheduling=true
//
// The operators keep the field: it is in the CRDs of JobSet 0.11 and KubeRay 1.6.
//
//	gang, err := workload.Build(workload.Workload{Name: "run7", Namespace: "ns", Groups: []workload.Group{{Name: workload.WholeRun, MinCount: 12}}})
//	template.Spec.WithWorkloadRef(workload.Ref("run7", workload.WholeRun))
package workload

import (
	"errors"
	"fmt"

	schedulingv1alpha1 "k8s.io/api/scheduling/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	schedulingac "k8s.io/client-go/applyconfigurations/scheduling/v1alpha1"
)

// WholeRun is the group of a gang over all clusters.
const WholeRun = "all"

// Workload is the gangs of one run. Its groups cannot be changed later: delete it and make it again.
type Workload struct {
	Name, Namespace string
	Labels          map[string]string
	Groups          []Group
}

// Group is one gang.
type Group struct {
	Name     string
	MinCount int32 // pods that start together: all that name the group
}

// Build renders the Workload, or names everything that the API server would refuse. It may be applied before or after the pods.
func Build(w Workload) (*schedulingac.WorkloadApplyConfiguration, error) {
	if err := errors.Join(w.problems()...); err != nil {
		return nil, fmt.Errorf("Workload %q: %w", w.Name, err)
	}
	spec := schedulingac.WorkloadSpec()
	for _, group := range w.Groups {
		spec.WithPodGroups(schedulingac.PodGroup().
			WithName(group.Name).
			WithPolicy(schedulingac.PodGroupPolicy().WithGang(schedulingac.GangSchedulingPolicy().WithMinCount(group.MinCount))))
	}
	return schedulingac.Workload(w.Name, w.Namespace).WithLabels(w.Labels).WithSpec(spec), nil
}

// Ref makes the pods of a template members of a group.
func Ref(workload, group string) *corev1ac.WorkloadReferenceApplyConfiguration {
	return corev1ac.WorkloadReference().WithName(workload).WithPodGroup(group)
}

func (w Workload) problems() []error {
	var errs []error
	for _, message := range validation.IsDNS1123Subdomain(w.Name) {
		errs = append(errs, fmt.Errorf("name: %s", message))
	}
	switch n := len(w.Groups); {
	case n == 0:
		errs = append(errs, fmt.Errorf("no groups: a gang needs one; use %q for a gang over all clusters", WholeRun))
	case n > schedulingv1alpha1.WorkloadMaxPodGroups:
		errs = append(errs, fmt.Errorf("%d groups: at most %d; make another Workload for the rest, or one group of all", n, schedulingv1alpha1.WorkloadMaxPodGroups))
	}
	seen := map[string]bool{}
	for i, group := range w.Groups {
		for _, message := range validation.IsDNS1123Label(group.Name) {
			errs = append(errs, fmt.Errorf("groups[%d].name %q: %s", i, group.Name, message))
		}
		if seen[group.Name] {
			errs = append(errs, fmt.Errorf("groups[%d].name %q: another group has this name; rename one", i, group.Name))
		}
		seen[group.Name] = true
		if group.MinCount < 1 {
			errs = append(errs, fmt.Errorf("groups[%d].minCount %d: must be at least 1; write how many pods start together", i, group.MinCount))
		}
	}
	return errs
}
