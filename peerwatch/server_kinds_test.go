package peerwatch

import (
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

func (r testRun) createRayJob(t *testing.T) *rayv1.RayJob {
	t.Helper()
	job := &rayv1.RayJob{ObjectMeta: r.meta(r.name + "-job")}
	job.Spec.RayClusterSpec = &rayv1.RayClusterSpec{HeadGroupSpec: rayv1.HeadGroupSpec{Template: corev1.PodTemplateSpec{Spec: container("ray-head")}}}
	require.NoError(t, r.Create(t.Context(), job))
	return job
}

// startRayJob is what KubeRay does: a RayCluster with a name of its own, and its head.
func (r testRun) startRayJob(t *testing.T, job *rayv1.RayJob) {
	t.Helper()
	job.Status.RayClusterName, job.Status.JobDeploymentStatus = job.Name+"-abcde", rayv1.JobDeploymentStatusRunning
	require.NoError(t, r.Status().Update(t.Context(), job))
	r.createPod(t, &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: job.Status.RayClusterName, UID: "of-its-cluster"}}, "head")
}

// testRayJobPeer: its pods are known only once KubeRay has named its cluster.
func testRayJobPeer(t *testing.T, s *server) {
	r := s.newRun(t, "rayjob")
	job := r.createRayJob(t)
	said := make(heard, 100)
	w := r.watch(t, "rl", s.cfg, func(c *Config) { c.Peers, c.Observer = append(c.Peers, Ref{RayJob, job.Name}), said })
	said.until(t, "")
	r.startRayJob(t, job)
	r.kill(t, job.Status.RayClusterName+"-head")
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, `container "ray-head" of head pod rayjob-job-abcde-head of RayJob rayjob-job restarted (exit code 137, Error)`, r.reported(t))
	r.requireClustersGone(t)
	r.requireGone(t, job.Name, &rayv1.RayJob{})
	require.Equal(t, EventCascade, r.events(t)[job.Name][0].Reason)
}

// testRayJobDriver is a driver that is a peer too. It stays after its success, as its pods do not.
func testRayJobDriver(t *testing.T, s *server) {
	r := s.newRun(t, "rayjobdriver")
	job := r.createRayJob(t)
	job.Spec.ShutdownAfterJobFinishes = true
	require.NoError(t, r.Update(t.Context(), job))
	r.startRayJob(t, job)
	w := r.watch(t, "rl", s.cfg, func(c *Config) {
		c.Driver = Ref{RayJob, job.Name}
		c.Peers = append(c.Peers, c.Driver)
	})
	job.Status.JobStatus, job.Status.JobDeploymentStatus = rayv1.JobStatusSucceeded, rayv1.JobDeploymentStatusComplete
	require.NoError(t, r.Status().Update(t.Context(), job))
	require.Equal(t, Action{Kind: Succeed, Reason: "driver RayJob rayjobdriver-job is complete"}, w.wait(t).Action)
	require.NoError(t, w.err)
	r.requireClustersGone(t)
	require.NoError(t, r.get(t, job.Name, &rayv1.RayJob{}), "it says how the run went")
}

func (r testRun) createDeployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"app": r.name}
	d := &appsv1.Deployment{ObjectMeta: r.meta(r.name + "-envs"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: container("env")},
	}}
	require.NoError(t, r.Create(t.Context(), d))
	return d
}

func (r testRun) createLabelled(t *testing.T, name, label, value string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: r.meta(name), Spec: container("server")}
	p.Labels = map[string]string{label: value}
	require.NoError(t, r.Create(t.Context(), p))
	return p
}

// testOtherPeers: a Deployment whose pod cannot start takes down a set of pods.
func testOtherPeers(t *testing.T, s *server) {
	r := s.newRun(t, "mixed")
	d := r.createDeployment(t)
	env := r.createLabelled(t, "mixed-envs-x", "app", r.name)
	r.createLabelled(t, "mixed-a", "set", r.name)
	r.createLabelled(t, "mixed-b", "set", r.name)
	w := r.watch(t, "rl", s.cfg, func(c *Config) {
		c.Peers = append(c.Peers, Ref{Deployment, d.Name}, Ref{Pods, "set=mixed"})
		c.Policy.StuckGrace = 1
	})
	env.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "env", Image: "env:9", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}},
	}}
	require.NoError(t, r.Status().Update(t.Context(), env))
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, `pod mixed-envs-x of Deployment mixed-envs has been stuck for 1ns: container "env" with image "env:9": ErrImagePull: not found`, r.reported(t))
	r.requireClustersGone(t)
	r.requireGone(t, d.Name, &appsv1.Deployment{})
	r.requireGone(t, "mixed-a", &corev1.Pod{})
	r.requireGone(t, "mixed-b", &corev1.Pod{})
	require.Len(t, r.events(t)["mixed-b"], 1)
}

func testJobSetDriver(t *testing.T, s *server) {
	r := s.newRun(t, "jobset")
	driver := &v1alpha2.JobSet{ObjectMeta: r.meta("jobset-driver-set")}
	driver.Spec.ReplicatedJobs = []v1alpha2.ReplicatedJob{{Name: "driver", Replicas: 1}}
	driver.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec = container("driver")
	driver.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	require.NoError(t, r.Create(t.Context(), driver))
	w := r.watch(t, "rl", s.cfg, func(c *Config) { c.Driver = Ref{JobSet, driver.Name} })
	driver.Status.Conditions = []metav1.Condition{{
		Type: "Failed", Status: metav1.ConditionTrue, Reason: "FailedJobs", Message: "driver-0 failed", LastTransitionTime: metav1.Now(),
	}}
	require.NoError(t, r.Status().Update(t.Context(), driver))
	w.wait(t)
	require.NoError(t, w.err)
	require.Equal(t, "driver JobSet jobset-driver-set failed: FailedJobs: driver-0 failed", r.reported(t))
	r.requireClustersGone(t)
}
