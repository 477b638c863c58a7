package launch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Phase is where a run is in its life.
type Phase string

// The phases of a run.
const (
	Pending   Phase = "Pending"   // the driver does not run yet
	Running   Phase = "Running"   // the driver runs
	Succeeded Phase = "Succeeded" // the driver exited 0
	Failed    Phase = "Failed"
	Removing  Phase = "Removing" // somebody removes it; what is missing of it is no failure
)

// Ended tells whether the run is over.
func (p Phase) Ended() bool { return p == Succeeded || p == Failed }

// Status is what is known of a run.
type Status struct {
	Name      string           `json:"name"`
	Namespace string           `json:"namespace"`
	Backend   v1alpha1.Backend `json:"backend"`
	Phase     Phase            `json:"phase"`
	// Reason says why the run failed, or what holds a living one up, where that is known.
	Reason string `json:"reason,omitempty"`
	// Clusters and Endpoints are empty once the run has ended.
	Clusters []ClusterStatus `json:"clusters"`
	// Endpoints are what the pods have published.
	Endpoints map[string]string `json:"endpoints"`

	// Failed is where the failure began, where that is known and still there.
	Failed *FailedContainer `json:"failedContainer,omitempty"`
	// PostMortem is what was kept of a failed run's containers before their pods were deleted.
	PostMortem []EndedContainer `json:"postMortem,omitempty"`

	hint   string // what may be done about the reason of a living run
	absent bool   // the object whose end is the run's does not exist
}

// ClusterStatus counts the pods of a cluster. A cluster that was taken down is not listed.
type ClusterStatus struct {
	Name    string `json:"name"`
	Head    Count  `json:"head"`
	Workers Count  `json:"workers"`
}

// Count is how many pods are ready of how many are wanted.
type Count struct {
	Ready int32 `json:"ready"`
	Want  int32 `json:"want"`
}

func (c Count) String() string { return fmt.Sprintf("%d/%d", c.Ready, c.Want) }

// Status reads where a run is; ErrNotFound when nothing of it is there.
func (l *Launcher) Status(ctx context.Context, namespace, name string) (Status, error) {
	s, err := l.read(ctx, namespace, name)
	if err != nil {
		return Status{}, err
	}
	if s.empty() {
		return Status{}, fmt.Errorf("run %s/%s: %w", namespace, name, ErrNotFound)
	}
	return assess(s), nil
}

// assess judges a snapshot. It is a pure function.
func assess(s *snapshot) Status {
	status := Status{
		Name: s.name, Namespace: s.namespace, Backend: s.backend(),
		Clusters: s.clusters(), Endpoints: s.endpoints(),
	}
	switch {
	case s.removing() != "":
		status.Phase, status.Reason = Removing, "being removed since "+s.removing()
	case status.Backend == v1alpha1.BackendJobSet:
		s.judgeJobSet(&status)
	case status.Backend == v1alpha1.BackendRayJob:
		s.judgeRayJob(&status)
	default:
		s.judgeRayClusters(&status)
	}
	if status.Phase == Failed {
		status.PostMortem = append(s.postMortem(), s.driverPostMortem()...)
	}
	if status.Phase.Ended() || status.Phase == Removing { // what is left is on its way out
		status.Clusters, status.Endpoints = []ClusterStatus{}, map[string]string{}
	}
	return status
}

// judgeJobSet follows the JobSet's conditions: its policies decide when the run ends.
func (s *snapshot) judgeJobSet(status *Status) {
	if s.jobSet == nil {
		status.Phase, status.absent = Pending, true
		status.Reason = fmt.Sprintf("JobSet %s does not exist", v1alpha1.JobSetName(s.name))
		return
	}
	for _, condition := range s.jobSet.Status.Conditions {
		if condition.Status != "True" {
			continue
		}
		switch v1alpha2.JobSetConditionType(condition.Type) {
		case v1alpha2.JobSetCompleted:
			status.Phase = Succeeded
			return
		case v1alpha2.JobSetFailed:
			s.fail(status, condition.Message, condition.LastTransitionTime.Time)
			return
		}
	}
	s.judgeLiving(status)
}

// judgeRayClusters follows the driver Job, and the error that peerwatch writes before it takes the clusters down. An error that
// comes after the driver's success is about the way down and changes nothing.
func (s *snapshot) judgeRayClusters(status *Status) {
	condition := jobEnd(s.driver)
	switch {
	case condition != nil && condition.Type == batchv1.JobComplete:
		status.Phase = Succeeded
	case condition != nil:
		s.fail(status, condition.Message, condition.LastTransitionTime.Time)
	case s.registryError() != "" && (s.driver == nil || !s.outlivesErrors()):
		s.fail(status, "", time.Time{})
	case s.driver == nil:
		status.Phase, status.absent = Pending, true
		status.Reason = fmt.Sprintf("Job %s does not exist", v1alpha1.DriverJobName(s.name))
	default:
		s.judgeLiving(status)
	}
}

// outlivesErrors tells whether a run with an error may go on: peerwatch starts it again and takes the error away, or leaves it to the driver.
// What peerwatch takes down for good has no driver any more.
func (s *snapshot) outlivesErrors() bool {
	if s.configMap == nil {
		return false
	}
	switch v1alpha1.OnPeerFailure(s.configMap.Annotations[v1alpha1.AnnotationOnPeerFailure]) {
	case v1alpha1.PeerFailureRestart, v1alpha1.PeerFailureIgnore:
		return true
	default:
		return false
	}
}

// jobEnd is the condition by which a Job has ended, or nil.
func jobEnd(job *batchv1.Job) *batchv1.JobCondition {
	if job == nil {
		return nil
	}
	for i, condition := range job.Status.Conditions {
		ended := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
		if ended && condition.Status == corev1.ConditionTrue {
			return &job.Status.Conditions[i]
		}
	}
	return nil
}

// judgeLiving: a run is pending until its driver runs, which waits for its head. A driver that has ended leaves the run running
// until its Job or JobSet has taken notice.
func (s *snapshot) judgeLiving(status *Status) {
	status.Phase = Pending
	if slices.ContainsFunc(s.pods, func(pod corev1.Pod) bool {
		return pod.Labels[v1alpha1.LabelGroup] == v1alpha1.GroupDriver && pod.Status.Phase != corev1.PodPending
	}) {
		status.Phase = Running
	}
	status.Reason, status.hint = waitingFor(s.pods)
}

func (s *snapshot) registryError() string {
	if s.configMap == nil {
		return ""
	}
	return s.configMap.Data[v1alpha1.ErrorKey]
}

func (s *snapshot) endpoints() map[string]string {
	endpoints := map[string]string{}
	if s.configMap != nil {
		maps.Copy(endpoints, s.configMap.Data)
	}
	delete(endpoints, v1alpha1.ErrorKey)
	return endpoints
}

// clusters counts ready pods against what the workloads want.
func (s *snapshot) clusters() []ClusterStatus {
	byName := map[string]*ClusterStatus{}
	s.countWanted(func(cluster, group string, n int32) {
		if byName[cluster] == nil {
			byName[cluster] = &ClusterStatus{Name: cluster}
		}
		byName[cluster].count(group).Want += n
	})
	for _, pod := range s.pods {
		if s.isOfFormerCluster(pod) {
			continue
		}
		cluster, group := byName[pod.Labels[v1alpha1.LabelCluster]], pod.Labels[v1alpha1.LabelGroup]
		if cluster != nil && group != v1alpha1.GroupDriver && ready(pod) {
			cluster.count(group).Ready++
		}
	}
	out := make([]ClusterStatus, 0, len(byName))
	for _, cluster := range byName {
		out = append(out, *cluster)
	}
	slices.SortFunc(out, func(a, b ClusterStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (c *ClusterStatus) count(group string) *Count {
	if group == v1alpha1.GroupHead {
		return &c.Head
	}
	return &c.Workers
}

// countWanted reports how many pods each group shall have.
func (s *snapshot) countWanted(report func(cluster, group string, n int32)) {
	for name, spec := range s.raySpecs() {
		report(name, v1alpha1.GroupHead, 1)
		for _, group := range spec.WorkerGroupSpecs {
			if group.Replicas != nil {
				report(name, group.GroupName, *group.Replicas)
			}
		}
	}
	if s.jobSet == nil {
		return
	}
	for _, job := range s.jobSet.Spec.ReplicatedJobs {
		group := job.Template.Labels[v1alpha1.LabelGroup]
		if group != v1alpha1.GroupDriver && job.Template.Spec.Parallelism != nil {
			report(job.Template.Labels[v1alpha1.LabelCluster], group, job.Replicas**job.Template.Spec.Parallelism)
		}
	}
}

func ready(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
