package workload_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha1 "k8s.io/api/scheduling/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/manifests/workload"
)

const (
	fieldManager = "test"
	namespace    = "default"
	gpu          = corev1.ResourceName("nvidia.com/gpu")
)

// start runs an API server, with the Workload API or as it is by default.
func start(t *testing.T, gated bool) (*envtest.Environment, *kubernetes.Clientset) {
	t.Helper()
	env := testenv.Environment(t)
	env.CRDDirectoryPaths = nil
	if gated {
		env.ControlPlane.GetAPIServer().Configure().
			Set("feature-gates", "GenericWorkload=true").
			Set("runtime-config", "scheduling.k8s.io/v1alpha1=true")
	}
	cfg, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return env, client
}

func TestWithoutTheFeatureGateTheReferenceIsLostWithoutAWord(t *testing.T) {
	_, client := start(t, false)
	built, err := workload.Build(wholeRun(2))
	require.NoError(t, err)
	_, err = client.SchedulingV1alpha1().Workloads(namespace).Apply(t.Context(), built, metav1.ApplyOptions{FieldManager: fieldManager})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.Nil(t, createPod(t, client, "rl-head", "1", true).Spec.WorkloadRef)
}

func TestWithTheFeatureGates(t *testing.T) {
	env, client := start(t, true)
	t.Run("the API server refuses what is not built", func(t *testing.T) { refusesWhatIsNotBuilt(t, client) })
	t.Run("nothing of a run starts before all its clusters fit", func(t *testing.T) { startsTogether(t, env, client) })
}

func refusesWhatIsNotBuilt(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	for _, c := range badCases() {
		w := wholeRun(6)
		c.change(&w)
		object := &schedulingv1alpha1.Workload{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: namespace}}
		for _, group := range w.Groups {
			object.Spec.PodGroups = append(object.Spec.PodGroups, schedulingv1alpha1.PodGroup{
				Name: group.Name, Policy: schedulingv1alpha1.PodGroupPolicy{Gang: &schedulingv1alpha1.GangSchedulingPolicy{MinCount: group.MinCount}},
			})
		}
		_, err := client.SchedulingV1alpha1().Workloads(namespace).Create(t.Context(), object, metav1.CreateOptions{})
		require.ErrorContains(t, err, c.server, c.name)
	}
}

// startsTogether has a node of 8 GPUs, with room for one of two clusters; pods of the same size without a gang show that it is the
// gang that holds the one back.
func startsTogether(t *testing.T, env *envtest.Environment, client *kubernetes.Clientset) {
	t.Helper()
	startScheduler(t, env)
	addNode(t, client, "8")

	createPod(t, client, "alone-rl", "6", false)
	createPod(t, client, "alone-gym", "4", false)
	waitFor(t, client, "one of two pods without a gang has a node", func(pods map[string]*corev1.Pod) bool {
		return count(pods, isBound) == 1 && count(pods, isUnschedulable) == 1
	})
	require.NoError(t, client.CoreV1().Pods(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}))
	waitFor(t, client, "they are gone", func(pods map[string]*corev1.Pod) bool { return len(pods) == 0 })

	applyWorkload(t, client)
	createPod(t, client, "rl", "6", true)
	createPod(t, client, "gym", "4", true)
	waitFor(t, client, "the scheduler has seen that one cluster does not fit", func(pods map[string]*corev1.Pod) bool {
		require.Zero(t, count(pods, isBound), "a pod has started before all fit")
		return count(pods, isUnschedulable) == 1
	})

	setGPUs(t, client, "16")
	waitFor(t, client, "both clusters have a node", func(pods map[string]*corev1.Pod) bool { return count(pods, isBound) == 2 })
}

func applyWorkload(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	built, err := workload.Build(wholeRun(2))
	require.NoError(t, err)
	_, err = client.SchedulingV1alpha1().Workloads(namespace).Apply(t.Context(), built, metav1.ApplyOptions{FieldManager: fieldManager})
	require.NoError(t, err)
}

// createPod makes a pod as an operator would from the template of a cluster.
func createPod(t *testing.T, client *kubernetes.Clientset, name, gpus string, member bool) *corev1.Pod {
	t.Helper()
	spec := corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("main").WithImage("image").
		WithResources(corev1ac.ResourceRequirements().WithLimits(corev1.ResourceList{gpu: resource.MustParse(gpus)})))
	if member {
		spec.WithWorkloadRef(workload.Ref("run7", workload.WholeRun))
	}
	pod, err := client.CoreV1().Pods(namespace).Apply(t.Context(), corev1ac.Pod(name, namespace).WithSpec(spec), metav1.ApplyOptions{FieldManager: fieldManager})
	require.NoError(t, err)
	return pod
}

func addNode(t *testing.T, client *kubernetes.Clientset, gpus string) {
	t.Helper()
	node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	node.Spec.Taints = nil // not-ready, which admission puts on and a kubelet would have taken away
	_, err = client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	setGPUs(t, client, gpus)
}

func setGPUs(t *testing.T, client *kubernetes.Clientset, gpus string) {
	t.Helper()
	resources := corev1.ResourceList{gpu: resource.MustParse(gpus), corev1.ResourcePods: resource.MustParse("10")}
	status := corev1ac.NodeStatus().WithCapacity(resources).WithAllocatable(resources)
	_, err := client.CoreV1().Nodes().ApplyStatus(t.Context(), corev1ac.Node("node").WithStatus(status), metav1.ApplyOptions{FieldManager: fieldManager})
	require.NoError(t, err)
}

// startScheduler runs the kube-scheduler that was built beside the API server.
func startScheduler(t *testing.T, env *envtest.Environment) {
	t.Helper()
	binary := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-scheduler")
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("skipped: %v; there is no scheduler to try a gang with", err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, env.KubeConfig, 0o600))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, binary, "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--feature-gates=GenericWorkload=true,GangScheduling=true")
	log, err := os.Create(filepath.Join(t.TempDir(), "scheduler.log"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
		require.NoError(t, log.Close())
		if t.Failed() {
			data, err := os.ReadFile(log.Name())
			t.Logf("kube-scheduler said (%v):\n%s", err, data)
		}
	})
}

const patience = 2 * time.Minute

func waitFor(t *testing.T, client *kubernetes.Clientset, what string, done func(map[string]*corev1.Pod) bool) {
	t.Helper()
	last := map[string]*corev1.Pod{}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		last = map[string]*corev1.Pod{}
		for i := range list.Items {
			last[list.Items[i].Name] = &list.Items[i]
		}
		return done(last), nil
	})
	require.NoError(t, err, "waiting until %s: %s", what, describe(last))
}

func describe(pods map[string]*corev1.Pod) string {
	out := ""
	for name, pod := range pods {
		out += fmt.Sprintf("%s node=%q conditions=%v; ", name, pod.Spec.NodeName, pod.Status.Conditions)
	}
	return out
}

func count(pods map[string]*corev1.Pod, is func(*corev1.Pod) bool) int {
	n := 0
	for _, pod := range pods {
		if is(pod) {
			n++
		}
	}
	return n
}

func isBound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// isUnschedulable tells that the scheduler has tried the pod and found no node for it.
func isUnschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}
