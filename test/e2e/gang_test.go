package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Kubernetes' own gang scheduling: the first cluster fits and the second does not, so neither starts.
func TestNothingStartsBeforeAllClustersFit(t *testing.T) {
	for _, backend := range []v1alpha1.Backend{v1alpha1.BackendJobSet, v1alpha1.BackendRayCluster} {
		t.Run(string(backend), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			run := gangRun(t, backend)
			run.Spec.Clusters[1].Head.GPUs = 100
			tandem(t, ctx, run, "up", "-f", "-")
			t.Cleanup(func() { tandem(t, context.WithoutCancel(ctx), nil, "down", run.Metadata.Name) })
			want := pods(run)
			waitForPods(t, ctx, run.Metadata.Name, func(list []corev1.Pod) bool {
				for _, pod := range list {
					require.Empty(t, pod.Spec.NodeName, "pod %s has started before all clusters fit", pod.Name)
				}
				return len(list) == want && unschedulable(list)
			})
		})
	}
}

func TestAGangThatFitsRunsToItsEnd(t *testing.T) {
	for _, backend := range []v1alpha1.Backend{v1alpha1.BackendJobSet, v1alpha1.BackendRayCluster} {
		t.Run(string(backend), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			run := gangRun(t, backend)
			run.Metadata.Name += "-fits"
			t.Cleanup(func() { tandem(t, context.WithoutCancel(ctx), nil, "down", run.Metadata.Name) })
			tandem(t, ctx, run, "up", "-f", "-", "--wait")
		})
	}
}

// gangRun is the example of a backend under Kubernetes' own gang scheduling.
func gangRun(t *testing.T, backend v1alpha1.Backend) *v1alpha1.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(examples, fmt.Sprintf("disagg-%s.yaml", backend)))
	require.NoError(t, err)
	run, err := v1alpha1.Decode(data)
	require.NoError(t, err)
	run.Metadata.Name = "gang-" + string(backend)
	run.Spec.Scheduling = v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerWorkload}
	return run
}

// pods of a run that has not been started: heads, workers and the driver's.
func pods(run *v1alpha1.Run) int {
	n := 1
	for i := range run.Spec.Clusters {
		n++
		for j := range run.Spec.Clusters[i].Workers {
			n += int(run.Spec.Clusters[i].Workers[j].Pods())
		}
	}
	return n
}

// unschedulable tells whether the scheduler has said so of a pod.
func unschedulable(list []corev1.Pod) bool {
	for _, pod := range list {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable && strings.Contains(condition.Message, "nvidia.com/gpu") {
				return true
			}
		}
	}
	return false
}

// waitForPods looks at the pods of a run after each change, until enough is seen.
func waitForPods(t *testing.T, ctx context.Context, run string, enough func([]corev1.Pod) bool) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	of := metav1.ListOptions{LabelSelector: v1alpha1.LabelRun + "=" + run}
	for {
		list, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, of)
		require.NoError(t, err)
		if enough(list.Items) {
			return
		}
		changes, err := client.CoreV1().Pods(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{LabelSelector: of.LabelSelector, ResourceVersion: list.ResourceVersion})
		require.NoError(t, err)
		select {
		case <-changes.ResultChan():
			changes.Stop()
		case <-ctx.Done():
			changes.Stop()
			require.NoError(t, ctx.Err(), "the pods of run %s: %d", run, len(list.Items))
		}
	}
}

// tandem runs the program, with a Run file on its standard input where there is one.
func tandem(t *testing.T, ctx context.Context, run *v1alpha1.Run, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "tandem"), args...)
	cmd.Env = cluster.Env
	if run != nil {
		file, err := yaml.Marshal(run)
		require.NoError(t, err)
		cmd.Stdin = strings.NewReader(string(file))
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "tandem %s:\n%s", strings.Join(args, " "), out)
}
