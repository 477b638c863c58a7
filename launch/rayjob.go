package launch

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// judgeRayJob follows the RayJob's status, and the error that peerwatch writes before it takes the clusters down. The ConfigMap stays when
// the RayJob is deleted, and is made after it, so that one without a RayJob is that of a run which is over.
func (s *snapshot) judgeRayJob(status *Status) {
	job := s.rayJob
	switch {
	case job != nil && job.Status.JobStatus == rayv1.JobStatusSucceeded && job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete:
		status.Phase = Succeeded
	case job != nil && rayJobEnded(job):
		s.fail(status, rayJobEnd(job), endTime(job))
	case s.registryError() != "" && (job == nil || job.DeletionTimestamp != nil || !s.outlivesErrors()):
		s.fail(status, "", time.Time{})
	case job == nil || job.DeletionTimestamp != nil:
		status.Phase = Failed
		status.Reason = fmt.Sprintf("RayJob %s is gone: somebody deleted it", v1alpha1.RayJobName(s.name))
	default:
		s.judgeLivingRayJob(status)
	}
}

// rayJobEnded: KubeRay does nothing more with it. A validation that failed is as final as the end of the driver.
func rayJobEnded(job *rayv1.RayJob) bool {
	switch job.Status.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusComplete, rayv1.JobDeploymentStatusFailed, rayv1.JobDeploymentStatusValidationFailed:
		return true
	default:
		return false
	}
}

func endTime(job *rayv1.RayJob) time.Time {
	if job.Status.EndTime == nil {
		return time.Time{}
	}
	return job.Status.EndTime.Time
}

// rayJobEnd says why a RayJob has ended without success. KubeRay calls one Complete whose job somebody stopped.
func rayJobEnd(job *rayv1.RayJob) string {
	said := firstLine(job.Status.Message)
	switch {
	case job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed:
		return fmt.Sprintf("KubeRay does not accept RayJob %s: %s", job.Name, said)
	case job.Status.JobStatus == rayv1.JobStatusStopped:
		return fmt.Sprintf("the driver was stopped (Ray job %s)", job.Status.JobId)
	case job.Status.Reason != rayv1.AppFailed:
		return strings.TrimRight(fmt.Sprintf("RayJob %s failed: %s: %s", job.Name, cmp.Or(string(job.Status.Reason), "no reason"), said), ": ")
	}
	if end := driverEnd(job); end != nil {
		return explainCode(fmt.Sprintf("the driver ended with exit code %d", *end.ExitCode)) + lastWords(end.Log)
	}
	return "the driver failed: " + said
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// lastWords is the last line of a log, which of a Python program names the exception: no pod has it any more.
func lastWords(log string) string {
	line := strings.TrimSpace(log[strings.LastIndex(log, "\n")+1:])
	if len(line) > maxCause {
		line = strings.ToValidUTF8(line[:maxCause], "") + "..."
	}
	if line == "" {
		return ""
	}
	return ": " + line
}

// commandFailed is how Ray begins the message about a job whose command failed; what follows are the last lines of its log
// (python/ray/dashboard/modules/job/job_supervisor.py). KubeRay copies the message, and nothing else that has the exit code.
var commandFailed = regexp.MustCompile(`^Job entrypoint command failed with exit code (-?\d+)[,.]([^\n]*)\n?`)

// driverLines is how many last lines of the driver's log are kept of those that Ray gives.
const driverLines = 30

// driverEnd is how the command of a failed RayJob ended; nil where Ray does not say.
func driverEnd(job *rayv1.RayJob) *EndedContainer {
	found := commandFailed.FindStringSubmatch(job.Status.Message)
	if found == nil || job.Status.JobStatus != rayv1.JobStatusFailed {
		return nil
	}
	code, err := strconv.Atoi(found[1])
	if err != nil {
		return nil
	}
	if code < 0 { // Python's number for a signal
		code = 128 - code
	}
	log := strings.TrimRight(job.Status.Message[len(found[0]):], "\n")
	lines := strings.Split(log, "\n")
	return &EndedContainer{Container: v1alpha1.GroupDriver, ExitCode: &code, Log: strings.Join(lines[max(0, len(lines)-driverLines):], "\n")}
}

// driverPostMortem is what the driver of a RayJob said last: KubeRay deletes the pod that it ran in at once.
func (s *snapshot) driverPostMortem() []EndedContainer {
	if s.rayJob == nil {
		return nil
	}
	if end := driverEnd(s.rayJob); end != nil {
		return []EndedContainer{*end}
	}
	return nil
}

// judgeLivingRayJob: a run is pending until KubeRay has seen its driver run.
func (s *snapshot) judgeLivingRayJob(status *Status) {
	job := s.rayJob
	status.Phase = Pending
	status.Reason, status.hint = waitingFor(s.pods)
	since, starting := job.Annotations[annotationStarting]
	running := job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusRunning
	switch {
	case starting:
		status.Reason = fmt.Sprintf("RayJob %s is held until what it needs is there, since %s", job.Name, since)
		status.hint = "if no `tandem up` is at it, up again goes on"
	case job.Spec.Suspend:
		status.Reason = fmt.Sprintf("RayJob %s is suspended", job.Name)
	case job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusRetrying:
		status.Reason = fmt.Sprintf("RayJob %s starts again: %s", job.Name, rayJobEnd(job))
	case running && job.Status.JobStatus == rayv1.JobStatusNew:
		status.Reason = fmt.Sprintf("KubeRay is to submit the driver of RayJob %s", job.Name)
		status.hint = "KubeRay's operator must reach the dashboard at " + job.Status.DashboardURL + "; its log says what keeps it"
	case running && job.Status.JobStatus != rayv1.JobStatusPending:
		status.Phase = Running
	}
}

// raySpecs are those of the Ray clusters by name. KubeRay makes up the name of a RayJob's, and another one for each retry.
func (s *snapshot) raySpecs() map[string]*rayv1.RayClusterSpec {
	specs := map[string]*rayv1.RayClusterSpec{}
	if job := s.rayJob; job != nil && job.Spec.RayClusterSpec != nil {
		specs[job.Labels[v1alpha1.LabelCluster]] = job.Spec.RayClusterSpec
	}
	for i := range s.rayClusters {
		cluster := &s.rayClusters[i]
		owner := metav1.GetControllerOf(cluster)
		if owner == nil || s.rayJob != nil && cluster.Name == s.rayJob.Status.RayClusterName {
			specs[cluster.Labels[v1alpha1.LabelCluster]] = &cluster.Spec
		}
	}
	return specs
}

// labelRayCluster is on every pod of a RayCluster.
const labelRayCluster = "ray.io/cluster"

// isOfFormerCluster: the pod belongs to a try of the RayJob that is over.
func (s *snapshot) isOfFormerCluster(pod corev1.Pod) bool {
	job := s.rayJob
	return job != nil && pod.Labels[v1alpha1.LabelCluster] == job.Labels[v1alpha1.LabelCluster] &&
		pod.Labels[labelRayCluster] != job.Status.RayClusterName
}
