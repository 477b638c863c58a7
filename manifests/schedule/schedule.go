// Package schedule says what the scheduler of a run wants of its objects and pods, and makes the objects that it needs besides.
//
// It promises that what goes where is known in one place: labels and annotations of owners, of Jobs within a JobSet and of pods, the
// scheduler's name, and the object that holds the gang. What each release of KAI wants is known by package kai.
//
//	scheduling, err := schedule.Of(run)
//	marks := scheduling.Pod("rl", "trainer")
package schedule

import (
	"fmt"
	"maps"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// Marks are what a scheduler reads from metadata.
type Marks struct{ Labels, Annotations map[string]string }

func (m Marks) with(other Marks) Marks {
	return Marks{Labels: joined(m.Labels, other.Labels), Annotations: joined(m.Annotations, other.Annotations)}
}

// joined is nil for nothing, so that nothing is rendered.
func joined(a, b map[string]string) map[string]string {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// Scheduling is that of one run.
type Scheduling struct {
	run   *v1alpha1.Run
	kai   kai.Version // with scheduler kai
	owner Marks
	job   kai.MinMember
}

// Of fails where the scheduler cannot do what the run asks for.
func Of(run *v1alpha1.Run) (*Scheduling, error) {
	s := &Scheduling{run: run}
	switch run.Spec.Scheduling.Scheduler {
	case v1alpha1.SchedulerKAI:
		return s, s.setKAI()
	case v1alpha1.SchedulerKueue:
		// Kueue's webhook suspends what carries this label. tandem does not say suspend itself: applied again, it would suspend a
		// run that has been admitted.
		s.owner = Marks{Labels: map[string]string{kai.LabelKueueQueue: run.Spec.Scheduling.Queue}}
	}
	return s, nil
}

// Must is Of for a run that has been checked.
func Must(run *v1alpha1.Run) *Scheduling {
	s, err := Of(run)
	if err != nil {
		panic(fmt.Sprintf("scheduling of a run that was checked: %v", err))
	}
	return s
}

func (s *Scheduling) uses(scheduler v1alpha1.Scheduler) bool {
	return s.run.Spec.Scheduling.Scheduler == scheduler
}

// SchedulerName of every pod; "" is the cluster's default scheduler.
func (s *Scheduling) SchedulerName() string {
	if s.uses(v1alpha1.SchedulerKAI) {
		return kai.SchedulerName
	}
	return ""
}

// Owner marks the objects that own pods: JobSet, RayCluster, RayJob and the driver's Job.
func (s *Scheduling) Owner() Marks { return s.owner }

// Job marks the template of a replicatedJob: KAI 0.16 and later read it for the gang's subgroup.
func (s *Scheduling) Job(group string, gpus bool) Marks {
	out := Marks{Annotations: s.job.Template}
	if s.uses(v1alpha1.SchedulerKAI) && gpus && group != v1alpha1.GroupHead && s.kai.Features().JobSet == kai.JobSetTree {
		out = out.with(s.topologyMarks())
	}
	return out
}

// Pod marks the pods of a segment of a worker group, of a head (v1alpha1.GroupHead) or of the driver (v1alpha1.GroupDriver).
func (s *Scheduling) Pod(cluster, segment string, gpus bool) Marks {
	if !s.uses(v1alpha1.SchedulerKAI) || !s.run.Spec.Backend.OnKubeRay() {
		return Marks{}
	}
	if member := s.member(cluster, segment); member != nil {
		return Marks{Labels: member.PodLabels(), Annotations: member.PodAnnotations()}
	}
	if gpus && segment != v1alpha1.GroupHead {
		return s.topologyMarks()
	}
	return Marks{}
}

// Objects are the ones that hold the gang, to be applied before any pod.
func (s *Scheduling) Objects() ([]any, error) {
	switch {
	case s.hasPodGroup():
		group, err := s.podGroup()
		if err != nil {
			return nil, err
		}
		return []any{group}, nil
	case s.hasWorkload():
		workload, err := s.workload()
		if err != nil {
			return nil, err
		}
		return []any{workload}, nil
	}
	return nil, nil
}
