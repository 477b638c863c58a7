package manifests_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// podsOf returns the pod templates of a run by role: rl-head, gym-workers, driver.
func podsOf(t *testing.T, run *v1alpha1.Run) map[string]corev1.PodTemplateSpec {
	t.Helper()
	out := map[string]corev1.PodTemplateSpec{}
	add := func(template corev1.PodTemplateSpec) {
		role := v1alpha1.GroupDriver
		if group := template.Labels[v1alpha1.LabelGroup]; group != v1alpha1.GroupDriver {
			role = template.Labels[v1alpha1.LabelCluster] + "-" + group
		}
		out[role] = template
	}
	addCluster := func(spec *rayv1.RayClusterSpec) {
		add(spec.HeadGroupSpec.Template)
		for _, group := range spec.WorkerGroupSpecs {
			add(group.Template)
		}
	}
	for _, object := range render(t, run) {
		typed := typeOf(object.GetKind())
		if typed == nil {
			continue // the gang's own object
		}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed))
		switch o := typed.(type) {
		case *v1alpha2.JobSet:
			for _, job := range o.Spec.ReplicatedJobs {
				add(job.Template.Spec.Template)
			}
		case *batchv1.Job:
			add(o.Spec.Template)
		case *rayv1.RayCluster:
			addCluster(&o.Spec)
		case *rayv1.RayJob:
			addCluster(o.Spec.RayClusterSpec)
		}
	}
	return out
}

// every runs a check on every pod of both examples.
func every(t *testing.T, check func(t *testing.T, role string, pod corev1.PodTemplateSpec)) {
	t.Helper()
	for _, example := range exampleFiles {
		for role, pod := range podsOf(t, load(t, example)) {
			t.Run(example+"/"+role, func(t *testing.T) { check(t, role, pod) })
		}
	}
}

func containers(pod corev1.PodTemplateSpec) []corev1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

func mountsToken(c corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(m.MountPath, "/var/run/secrets") })
}

func TestOnlySidecarsSeeAToken(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, _ string, pod corev1.PodTemplateSpec) {
		require.False(t, *pod.Spec.AutomountServiceAccountToken)
		for _, c := range containers(pod) {
			sidecar := c.Name == "registry" || c.Name == "peerwatch"
			require.Equal(t, sidecar, mountsToken(c), c.Name)
		}
	})
}

func TestPodsHaveTheSidecarsOfTheirRole(t *testing.T) {
	t.Parallel()
	want := map[string]map[string][]string{
		"disagg-jobset": {
			"rl-head":        {"registry"},
			"rl-gpu-workers": {"registry", "wait-for-head"},
			"gym-head":       {"registry"},
			"gym-workers":    {"wait-for-head"},
			"driver":         {"wait-for-head", "wait-for-dashboard"},
		},
		"disagg-raycluster": {
			"rl-head":        {"registry", "peerwatch"},
			"rl-gpu-workers": {"registry"},
			"gym-head":       {"registry", "peerwatch"},
			"driver":         {"wait-for-head", "wait-for-dashboard"},
		},
		"disagg-rayjob": {
			"rl-head":        {"registry", "peerwatch"},
			"rl-gpu-workers": {"registry"},
			"gym-head":       {"registry", "peerwatch"},
		},
	}
	for example, roles := range want {
		got := map[string][]string{}
		for role, pod := range podsOf(t, load(t, example)) {
			for _, c := range pod.Spec.InitContainers {
				got[role] = append(got[role], c.Name)
			}
		}
		require.Equal(t, roles, got, example)
	}
}

func TestTheRayContainerComesFirst(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, role string, pod corev1.PodTemplateSpec) {
		require.Len(t, pod.Spec.Containers, 1)
		if role != "driver" {
			require.Equal(t, "ray", pod.Spec.Containers[0].Name)
		}
	})
}

func TestTandemsContainersRunUnderTheRestrictedStandard(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, _ string, pod corev1.PodTemplateSpec) {
		for _, c := range pod.Spec.InitContainers {
			security := c.SecurityContext
			require.True(t, *security.RunAsNonRoot, c.Name)
			require.False(t, *security.AllowPrivilegeEscalation, c.Name)
			require.True(t, *security.ReadOnlyRootFilesystem, c.Name)
			require.Equal(t, []corev1.Capability{"ALL"}, security.Capabilities.Drop, c.Name)
			require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, security.SeccompProfile.Type, c.Name)
		}
	})
}

func TestReferencesComeAfterTheVariablesTheyName(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, _ string, pod corev1.PodTemplateSpec) {
		for _, c := range containers(pod) {
			var first []string
			for _, variable := range c.Env[:4] {
				first = append(first, variable.Name)
			}
			require.Equal(t, []string{"TANDEM_RUN", "TANDEM_NAMESPACE", "POD_IP", "POD_NAME"}, first, c.Name)
		}
	})
}

func TestEveryWaitIsBounded(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, _ string, pod corev1.PodTemplateSpec) {
		for _, c := range pod.Spec.InitContainers {
			if strings.HasPrefix(c.Name, "wait-") {
				require.Equal(t, []string{"--timeout", "20m0s"}, c.Args[len(c.Args)-2:], c.Name)
			}
		}
	})
}

func TestGPUsAreAskedOfKubernetesAndToldToRay(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		ray := podsOf(t, load(t, example))["rl-gpu-workers"].Spec.Containers[0]
		require.Equal(t, "2", ray.Resources.Limits.Name(v1alpha1.ResourceGPU, "").String())
		require.Equal(t, "2", ray.Resources.Requests.Name(v1alpha1.ResourceGPU, "").String())
		require.Contains(t, ray.Args, "--num-gpus=2")
	}
}

func TestPublishersTellTheRegistryWhatAndWhen(t *testing.T) {
	t.Parallel()
	pods := podsOf(t, load(t, "disagg-jobset"))
	serve := []string{"serve", "--run", "disagg-job", "--namespace", "default", "--listen", "127.0.0.1:9440"}
	want := map[string][]string{
		"rl-head":        serve,
		"rl-gpu-workers": append(slices.Clone(serve), "--publish-member-from-file", "vllm_base_urls=/run/tandem/publish/vllm_base_urls", "--when-http", "vllm_base_urls=/health"),
		"gym-head":       append(slices.Clone(serve), "--publish", "gym_head_server=http://$(POD_IP):9090", "--when-http", "gym_head_server=http://$(POD_IP):9090/global_config_dict_yaml"),
	}
	for role, args := range want {
		require.Equal(t, args, pods[role].Spec.InitContainers[0].Args, role)
	}
}

func TestTheDriversVariablesAreInItsPodAndNamedToTheScript(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		run := load(t, example)
		if !run.Spec.Backend.DriverHasPod() {
			continue
		}
		driver := podsOf(t, run)["driver"].Spec.Containers[0]
		require.Equal(t, []string{"1", "WANDB_NAME", "grpo", "--steps", "3"}, driver.Args[2:], "number and names of the variables, command")
		require.Contains(t, driver.Env, corev1.EnvVar{Name: "WANDB_NAME", Value: "$(TANDEM_RUN), first try"})
	}
}

func TestRayHasTheStartupGraceToAnswer(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-raycluster")
	run.Spec.Failure.StartupGrace.Duration = 1500 * time.Millisecond
	ray := podsOf(t, run)["gym-head"].Spec.Containers[0]
	require.Equal(t, []string{"52365", "2"}, ray.Args[:2], "port of Ray's dashboard agent, whole seconds")
}

func TestKAIFindsQueueAndSchedulerOnObjectsAndPods(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		run := load(t, example)
		run.Spec.Scheduling = v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "rl-team"}
		run.SetDefaults()
		for _, object := range render(t, run) {
			require.Equal(t, "rl-team", object.GetLabels()[v1alpha1.LabelKAIQueue], object.GetKind())
		}
		for role, pod := range podsOf(t, run) {
			require.Equal(t, "kai-scheduler", pod.Spec.SchedulerName, role)
			require.Equal(t, "rl-team", pod.Labels[v1alpha1.LabelKAIQueue], role)
		}
	}
}

func TestAGroupWithoutPodsIsLeftOutOfTheJobSet(t *testing.T) {
	t.Parallel()
	run := load(t, "disagg-jobset")
	run.Spec.Clusters[1].Workers[0].Replicas = new(int32(0))
	require.NotContains(t, podsOf(t, run), "gym-workers")
}

// KubeRay sets FQ_RAY_IP after what is in the file, so only arguments may refer to it, and it sets RAY_ADDRESS itself.
func TestWorkersOfARayJobFindTheHeadByKubeRaysVariable(t *testing.T) {
	t.Parallel()
	worker := podsOf(t, load(t, "disagg-rayjob"))["rl-gpu-workers"].Spec.Containers[0]
	require.Contains(t, worker.Args, "--address=$(FQ_RAY_IP):6379")
	for _, variable := range worker.Env {
		require.NotEqual(t, "RAY_ADDRESS", variable.Name)
		require.NotContains(t, variable.Value, "FQ_RAY_IP")
	}
}

func TestPeerwatchKnowsARayJobAsAPeerAndAsTheDriver(t *testing.T) {
	t.Parallel()
	pods := podsOf(t, load(t, "disagg-rayjob"))
	for role, refs := range map[string][]string{
		"rl-head":  {"--self", "rayjob/rayjob", "--peer", "raycluster/rayjob-gym", "--driver", "rayjob/rayjob"},
		"gym-head": {"--self", "raycluster/rayjob-gym", "--peer", "rayjob/rayjob", "--driver", "rayjob/rayjob"},
	} {
		require.Equal(t, refs, pods[role].Spec.InitContainers[1].Args[4:10], role)
	}
}
