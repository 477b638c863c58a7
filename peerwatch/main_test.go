package peerwatch

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a real API server. No operator runs: tests set statuses by hand.
type server struct {
	client.Client
	cfg *rest.Config
}

func startServer(t *testing.T) *server {
	t.Helper()
	cfg := testenv.Start(t)
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, rayv1.AddToScheme(scheme))
	require.NoError(t, v1alpha2.AddToScheme(scheme))
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return &server{Client: c, cfg: cfg}
}

// testRun is one run, whole and healthy: <name>-rl, <name>-gym, their heads, the driver and the registry.
type testRun struct {
	*server
	name string
}

func (s *server) newRun(t *testing.T, name string) testRun {
	t.Helper()
	r := testRun{server: s, name: name}
	require.NoError(t, s.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: r.meta(registry.DefaultPrefix + name)}))
	r.createCluster(t, "rl")
	r.createCluster(t, "gym")
	r.createDriver(t)
	return r
}

func (r testRun) cluster(short string) Ref { return Ref{RayCluster, r.name + "-" + short} }

func (r testRun) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default"}
}

func container(name string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "stub"}}}
}

func (r testRun) createCluster(t *testing.T, short string) {
	t.Helper()
	cluster := &rayv1.RayCluster{ObjectMeta: r.meta(r.name + "-" + short), Spec: rayv1.RayClusterSpec{
		HeadGroupSpec: rayv1.HeadGroupSpec{Template: corev1.PodTemplateSpec{Spec: container("ray-head")}},
	}}
	require.NoError(t, r.Create(t.Context(), cluster))
	cluster.Status.Conditions = []metav1.Condition{{
		Type: "HeadPodReady", Status: metav1.ConditionTrue, Reason: "HeadPodRunningAndReady", LastTransitionTime: metav1.Now(),
	}}
	require.NoError(t, r.Status().Update(t.Context(), cluster))
	r.createPod(t, cluster, "head")
	r.createPod(t, cluster, "worker")
}

// createPod makes a pod of a cluster as KubeRay does, with a container that runs.
func (r testRun) createPod(t *testing.T, cluster *rayv1.RayCluster, nodeType string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: r.meta(cluster.Name + "-" + nodeType), Spec: container("ray-" + nodeType)}
	pod.Labels = map[string]string{"ray.io/cluster": cluster.Name, "ray.io/node-type": nodeType}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "ray.io/v1", Kind: "RayCluster", Name: cluster.Name, UID: cluster.UID,
	}}
	require.NoError(t, r.Create(t.Context(), pod))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "ray-" + nodeType, Ready: true}}
	require.NoError(t, r.Status().Update(t.Context(), pod))
}

func (r testRun) createDriver(t *testing.T) {
	t.Helper()
	spec := container("driver")
	spec.RestartPolicy = corev1.RestartPolicyNever
	require.NoError(t, r.Create(t.Context(), &batchv1.Job{
		ObjectMeta: r.meta(r.name + "-driver"),
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}},
	}))
}

func (r testRun) killHead(t *testing.T, short string) {
	t.Helper()
	r.kill(t, r.name+"-"+short+"-head")
}

// kill is what the kubelet reports after a pod's container was killed.
func (r testRun) kill(t *testing.T, name string) {
	t.Helper()
	var pod corev1.Pod
	require.NoError(t, r.get(t, name, &pod))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, RestartCount: 1,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}},
	}}
	require.NoError(t, r.Status().Update(t.Context(), &pod))
}

// completeDriver is what the Job controller reports after the driver exited 0.
func (r testRun) completeDriver(t *testing.T) {
	t.Helper()
	now := metav1.Now()
	var job batchv1.Job
	require.NoError(t, r.get(t, r.name+"-driver", &job))
	job.Status.StartTime, job.Status.CompletionTime = &now, &now
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now,
		})
	}
	require.NoError(t, r.Status().Update(t.Context(), &job))
}

func (r testRun) failDriver(t *testing.T) {
	t.Helper()
	now := metav1.Now()
	var job batchv1.Job
	require.NoError(t, r.get(t, r.name+"-driver", &job))
	job.Status.StartTime = &now
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded",
			Message: "Job has reached the specified backoff limit", LastTransitionTime: now, LastProbeTime: now,
		})
	}
	require.NoError(t, r.Status().Update(t.Context(), &job))
}

// createDriverPod is the pod that the Job controller would have made, after the driver exited 7.
func (r testRun) createDriverPod(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: r.meta(r.name + "-driver-x"), Spec: container("driver")}
	pod.Labels = map[string]string{"batch.kubernetes.io/job-name": r.name + "-driver"}
	require.NoError(t, r.Create(t.Context(), pod))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "driver", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7, Reason: "Error"}},
	}}
	require.NoError(t, r.Status().Update(t.Context(), pod))
}

func (r testRun) get(t *testing.T, name string, into client.Object) error {
	t.Helper()
	return r.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, into)
}

func (r testRun) deleteCluster(t *testing.T, short string) {
	t.Helper()
	require.NoError(t, r.Delete(t.Context(), &rayv1.RayCluster{ObjectMeta: r.meta(r.name + "-" + short)}))
}

// reported is the error that the registry holds.
func (r testRun) reported(t *testing.T) string {
	t.Helper()
	var cm corev1.ConfigMap
	require.NoError(t, r.get(t, registry.DefaultPrefix+r.name, &cm))
	return cm.Data["error"]
}

// postMortem is what the registry keeps of the failed containers.
func (r testRun) postMortem(t *testing.T) PostMortem {
	t.Helper()
	var cm corev1.ConfigMap
	require.NoError(t, r.get(t, registry.DefaultPrefix+r.name, &cm))
	var record PostMortem
	require.NoError(t, json.Unmarshal([]byte(cm.Annotations[PostMortemAnnotation]), &record))
	return record
}

// events are those about the run's clusters, by cluster.
func (r testRun) events(t *testing.T) map[string][]eventsv1.Event {
	t.Helper()
	var list eventsv1.EventList
	require.NoError(t, r.List(t.Context(), &list, client.MatchingLabels{v1alpha1.LabelRun: r.name}))
	byCluster := map[string][]eventsv1.Event{}
	for _, e := range list.Items {
		byCluster[e.Regarding.Name] = append(byCluster[e.Regarding.Name], e)
	}
	return byCluster
}

func (r testRun) requireGone(t *testing.T, name string, object client.Object) {
	t.Helper()
	err := r.get(t, name, object)
	require.True(t, apierrors.IsNotFound(err) || object.GetDeletionTimestamp() != nil, "%s is there: %v", name, err)
}

func (r testRun) requireClustersGone(t *testing.T) {
	t.Helper()
	r.requireGone(t, r.name+"-rl", &rayv1.RayCluster{})
	r.requireGone(t, r.name+"-gym", &rayv1.RayCluster{})
}

const stepTimeout = 5 * time.Second

// watching is a watcher that runs.
type watching struct {
	stop    func()
	done    chan struct{}
	outcome Outcome
	err     error
}

// watch starts the watcher of one of the run's two clusters.
func (r testRun) watch(t *testing.T, self string, cfg *rest.Config, changes ...func(*Config)) *watching {
	t.Helper()
	config := Config{
		Run: r.name, Namespace: "default", Self: r.cluster("rl"), Peers: []Ref{r.cluster("gym")}, Driver: Ref{Job, r.name + "-driver"},
		Policy: DefaultPolicy(), StepTimeout: stepTimeout,
	}
	if self == "gym" {
		config.Self, config.Peers = r.cluster("gym"), []Ref{r.cluster("rl")}
	}
	for _, change := range changes {
		change(&config)
	}
	watcher, err := New(config, cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.outcome, w.err = watcher.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-w.done })
	return w
}

// wait waits for the end of a cascade.
func (w *watching) wait(t *testing.T) Outcome {
	t.Helper()
	select {
	case <-w.done:
		return w.outcome
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the watcher did not act")
		return Outcome{}
	}
}

func (w *watching) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// What role may deny besides the deletion of a cluster.
const (
	deniedEvents = "events"
	deniedLogs   = "logs"
)

// role lets a user do everything that a watcher of the run does, but for what is denied: the deletion of a
// cluster, Events, or logs.
func (r testRun) role(t *testing.T, user string, denied string) *rest.Config {
	t.Helper()
	clusters := []string{}
	for _, name := range []string{r.name + "-rl", r.name + "-gym"} {
		if name != denied {
			clusters = append(clusters, name)
		}
	}
	role := &rbacv1.Role{ObjectMeta: r.meta(user), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "patch"}, ResourceNames: []string{registry.DefaultPrefix + r.name}},
		{APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}, Verbs: []string{"get", "list", "watch"}, ResourceNames: []string{r.name + "-rl", r.name + "-gym"}},
		{APIGroups: []string{"ray.io"}, Resources: []string{"rayclusters"}, Verbs: []string{"delete"}, ResourceNames: clusters},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch", "delete"}, ResourceNames: []string{r.name + "-driver"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
	}}
	if denied != deniedLogs {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}})
	}
	if denied != deniedEvents {
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}})
	}
	require.NoError(t, r.Create(t.Context(), role))
	require.NoError(t, r.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: r.meta(user),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
	cfg := rest.CopyConfig(r.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return cfg
}
