package launch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/launch"
)

// cluster is a real API server on which the test plays the controllers and the kubelet.
type cluster struct {
	t        *testing.T
	config   *rest.Config
	client   client.WithWatch
	launcher *launch.Launcher
}

// apiServer starts one server for all subtests, which take a namespace each.
func apiServer(t *testing.T) *rest.Config {
	t.Helper()
	return testenv.Start(t)
}

func newCluster(t *testing.T, config *rest.Config) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha2.AddToScheme(scheme))
	require.NoError(t, rayv1.AddToScheme(scheme))
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	launcher, err := launch.New(config)
	require.NoError(t, err)
	return &cluster{t: t, config: config, client: c, launcher: launcher}
}

// asUser lets the launcher act as somebody who has the rights of docs/user-role.yaml in a namespace, and no others.
func (c *cluster) asUser(namespace string) {
	c.t.Helper()
	data, err := os.ReadFile("../docs/user-role.yaml")
	require.NoError(c.t, err)
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var object unstructured.Unstructured
		require.NoError(c.t, yaml.UnmarshalStrict(document, &object.Object))
		if object.GetKind() == "RoleBinding" {
			object.SetNamespace(namespace)
		}
		require.NoError(c.t, c.client.Create(c.t.Context(), &object))
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "researcher-1", Groups: []string{"system:authenticated"}}
	c.launcher, err = launch.New(config)
	require.NoError(c.t, err)
}

// run loads an example into a namespace of its own.
func (c *cluster) run(example string) *v1alpha1.Run {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "examples", example+".yaml"))
	require.NoError(c.t, err)
	run, err := v1alpha1.Load(data)
	require.NoError(c.t, err)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	require.NoError(c.t, c.client.Create(c.t.Context(), namespace))
	run.Metadata.Namespace = namespace.Name
	return run
}

func (c *cluster) up(run *v1alpha1.Run) []launch.Change {
	c.t.Helper()
	changes, err := c.launcher.Up(c.t.Context(), run)
	require.NoError(c.t, err)
	return changes
}

func (c *cluster) status(run *v1alpha1.Run) launch.Status {
	c.t.Helper()
	status, err := c.launcher.Status(c.t.Context(), run.Metadata.Namespace, run.Metadata.Name)
	require.NoError(c.t, err)
	return status
}

func (c *cluster) down(run *v1alpha1.Run) (launch.Removal, error) {
	return c.launcher.Down(c.t.Context(), run.Metadata.Namespace, run.Metadata.Name, func(string) {})
}

// waiting is a Wait in the background.
type waiting struct {
	t      *testing.T
	mu     sync.Mutex
	seen   chan struct{} // closed and replaced with each line
	lines  []string
	done   chan struct{}
	status launch.Status
	err    error
}

func (c *cluster) wait(ctx context.Context, run *v1alpha1.Run) *waiting {
	w := &waiting{t: c.t, done: make(chan struct{}), seen: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.status, w.err = c.launcher.Wait(ctx, run.Metadata.Namespace, run.Metadata.Name, w.report)
	}()
	return w
}

func (w *waiting) report(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
	close(w.seen)
	w.seen = make(chan struct{})
}

// line blocks until the line has been reported.
func (w *waiting) line(want string) {
	w.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		w.mu.Lock()
		lines, seen := w.lines, w.seen
		w.mu.Unlock()
		for _, line := range lines {
			if line == want {
				return
			}
		}
		select {
		case <-seen:
		case <-w.done:
			require.Contains(w.t, w.lines, want, "Wait returned %v", w.err)
			return
		case <-deadline:
			require.Fail(w.t, "line was not reported", "want %q, have %q", want, lines)
		}
	}
}

func (w *waiting) end() (launch.Status, error) {
	w.t.Helper()
	select {
	case <-w.done:
	case <-time.After(30 * time.Second):
		require.Fail(w.t, "Wait did not return")
	}
	return w.status, w.err
}

// pod makes a pod of the run as a controller would.
func (c *cluster) pod(run *v1alpha1.Run, name, clusterName, group string, status corev1.PodStatus) *corev1.Pod {
	c.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: run.Metadata.Namespace, Labels: v1alpha1.Labels(run.Metadata.Name, clusterName, group)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray", Image: "x"}}},
	}
	require.NoError(c.t, c.client.Create(c.t.Context(), pod))
	pod.Status = status
	require.NoError(c.t, c.client.Status().Update(c.t.Context(), pod))
	return pod
}

func readyStatus() corev1.PodStatus {
	return corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
}

func failedStatus(container string, code int32, reason string) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodFailed,
		ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: metav1.Now()},
		}}},
	}
}

// endpoint publishes as the registry does: a merge patch of one key.
func (c *cluster) endpoint(run *v1alpha1.Run, key, value string) {
	c.t.Helper()
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigMapName(run.Metadata.Name), Namespace: run.Metadata.Namespace}}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{key: value}})
	require.NoError(c.t, err)
	require.NoError(c.t, c.client.Patch(c.t.Context(), configMap, client.RawPatch("application/merge-patch+json", patch)))
}

func (c *cluster) endJobSet(run *v1alpha1.Run, condition v1alpha2.JobSetConditionType, message string) {
	c.t.Helper()
	jobSet := &v1alpha2.JobSet{}
	require.NoError(c.t, c.client.Get(c.t.Context(), client.ObjectKey{Namespace: run.Metadata.Namespace, Name: run.Metadata.Name}, jobSet))
	jobSet.Status.Conditions = []metav1.Condition{{
		Type: string(condition), Status: metav1.ConditionTrue, Reason: "Test", Message: message, LastTransitionTime: metav1.Now(),
	}}
	require.NoError(c.t, c.client.Status().Update(c.t.Context(), jobSet))
}

func (c *cluster) endDriver(run *v1alpha1.Run, condition batchv1.JobConditionType, message string) {
	c.t.Helper()
	job := &batchv1.Job{}
	key := client.ObjectKey{Namespace: run.Metadata.Namespace, Name: v1alpha1.DriverJobName(run.Metadata.Name)}
	require.NoError(c.t, c.client.Get(c.t.Context(), key, job))
	now := metav1.Now()
	job.Status.StartTime = &now
	before := batchv1.JobSuccessCriteriaMet
	if condition == batchv1.JobComplete {
		job.Status.CompletionTime, job.Status.Succeeded, job.Status.CompletedIndexes = &now, 1, "0"
	} else {
		before = batchv1.JobFailureTarget
	}
	for _, each := range []batchv1.JobConditionType{before, condition} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: each, Status: corev1.ConditionTrue, Reason: "Test", Message: message, LastTransitionTime: now,
		})
	}
	require.NoError(c.t, c.client.Status().Update(c.t.Context(), job))
}

func (c *cluster) delete(object client.Object) {
	c.t.Helper()
	require.NoError(c.t, c.client.Delete(c.t.Context(), object, client.GracePeriodSeconds(0)))
}
