package manifests_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha1 "k8s.io/api/scheduling/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/testenv"
	"github.com/tandem-rl/tandem/manifests"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// square is one backend under one scheduler.
type square struct {
	name    string
	backend v1alpha1.Backend
	with    v1alpha1.Scheduling
}

var backends = []v1alpha1.Backend{v1alpha1.BackendJobSet, v1alpha1.BackendRayCluster, v1alpha1.BackendRayJob}

// matrix is every backend under every scheduler and version of KAI, with the largest gang that each can have.
func matrix() []square {
	topology := &v1alpha1.Topology{Name: "gb300", Required: "nvidia.com/gpu.clique"}
	schedulers := []struct {
		name string
		with v1alpha1.Scheduling
	}{
		{"default", v1alpha1.Scheduling{}},
		{"kueue", v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKueue, Queue: "rl-team"}},
		{"workload", v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerWorkload, PriorityClass: "train"}},
		{"kai-0.12.23", v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "rl-team", KAIVersion: "0.12.23", Gang: v1alpha1.GangCluster}},
		{"kai-0.14.7", v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "rl-team", KAIVersion: "0.14.7", Gang: v1alpha1.GangCluster, Topology: topology}},
		{"kai-0.15.3", v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "rl-team", KAIVersion: "0.15.3", Topology: topology}},
		{"kai-0.16.8", v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "rl-team", KAIVersion: "0.16.8", Topology: topology, Preemptible: new(false)}},
		{"kai-0.17.0", v1alpha1.Scheduling{
			Scheduler: v1alpha1.SchedulerKAI, Queue: "rl-team", KAIVersion: "0.17.0", Topology: topology,
			PriorityClass: "train", StalenessGracePeriod: &metav1.Duration{Duration: -1e9},
		}},
	}
	var out []square
	for _, backend := range backends {
		for _, scheduler := range schedulers {
			with := scheduler.with
			if backend == v1alpha1.BackendJobSet && with.Gang == v1alpha1.GangCluster {
				with.Gang = v1alpha1.GangRun // one object, one gang
			}
			out = append(out, square{string(backend) + "-" + scheduler.name, backend, with})
		}
	}
	return out
}

func (s square) run(t *testing.T) *v1alpha1.Run {
	t.Helper()
	run := loadFile(t, "testdata/runs/matrix.yaml")
	run.Spec.Backend, run.Spec.Scheduling = s.backend, s.with
	run.SetDefaults()
	return run
}

func loadFile(t *testing.T, path string) *v1alpha1.Run {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	run, err := v1alpha1.Load(data)
	require.NoError(t, err)
	return run
}

// outline prints objects with the names of the scripts in the place of their texts.
func outline(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, manifests.WriteYAML(&out, shortened(t, objects)))
	return out.String()
}

func shortened(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	scripts := map[string]string{}
	for _, name := range []string{"start.sh", "submit.sh", "fetch.sh"} {
		text, err := os.ReadFile(filepath.Join("pod", name))
		require.NoError(t, err)
		scripts[string(text)] = "(" + name + ")"
	}
	out := make([]*unstructured.Unstructured, len(objects))
	for i := range objects {
		out[i] = &unstructured.Unstructured{Object: replaced(objects[i].Object, scripts).(map[string]any)}
	}
	return out
}

func replaced(value any, texts map[string]string) any {
	switch v := value.(type) {
	case string:
		if short, ok := texts[v]; ok {
			return short
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaced(v[i], texts)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key := range v {
			out[key] = replaced(v[key], texts)
		}
		return out
	}
	return value
}

// A square that cannot be had has the refusal in its golden file.
func TestEveryBackendUnderEverySchedulerRendersToItsGoldenFile(t *testing.T) {
	t.Parallel()
	for _, square := range matrix() {
		t.Run(square.name, func(t *testing.T) {
			t.Parallel()
			objects, err := manifests.Render(square.run(t))
			if err != nil {
				golden.Assert(t, "refused: "+err.Error()+"\n", "matrix/"+square.name+".golden.yaml")
				return
			}
			decodeStrictly(t, objects)
			golden.Assert(t, outline(t, objects), "matrix/"+square.name+".golden.yaml")
		})
	}
}

func TestEveryFieldRendersToItsGoldenFile(t *testing.T) {
	t.Parallel()
	for _, backend := range backends {
		t.Run(string(backend), func(t *testing.T) {
			t.Parallel()
			objects := render(t, everything(t, backend))
			decodeStrictly(t, objects)
			golden.Assert(t, outline(t, objects), "everything-"+string(backend)+".golden.yaml")
		})
	}
}

// decodeStrictly fails on fields that the typed API of an object does not have.
func decodeStrictly(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	further := map[string]func() any{
		"NetworkPolicy":         func() any { return &networkingv1.NetworkPolicy{} },
		"PodGroup":              func() any { return &kai.PodGroup{} },
		"ResourceClaimTemplate": func() any { return &resourcev1.ResourceClaimTemplate{} },
		"Workload":              func() any { return &schedulingv1alpha1.Workload{} },
	}
	for _, object := range objects {
		var typed any = typeOf(object.GetKind())
		if of, ok := further[object.GetKind()]; ok {
			typed = of()
		}
		if object.GroupVersionKind().Group == "resource.nvidia.com" || object.GetAPIVersion() == "resource.k8s.io/v1beta1" {
			continue // no Go types here; the API server's test has the second
		}
		data, err := yaml.Marshal(object.Object)
		require.NoError(t, err)
		require.NoError(t, yaml.UnmarshalStrict(data, typed), "%s %s", object.GetKind(), object.GetName())
	}
}

// everything is the run with every field that the backend can have.
func everything(t *testing.T, backend v1alpha1.Backend) *v1alpha1.Run {
	t.Helper()
	run := loadFile(t, "testdata/runs/everything.yaml")
	run.Spec.Backend = backend
	switch backend {
	case v1alpha1.BackendJobSet: // of fixed size, restarted and suspended as a whole
		rl := &run.Spec.Clusters[0]
		rl.Autoscaler, rl.Workers[1].MinReplicas, rl.Workers[1].MaxReplicas = nil, nil, nil
		run.Spec.Failure.OnPeerFailure, run.Spec.Failure.MaxRestarts = v1alpha1.PeerFailureRestart, 3
		run.Spec.Failure.OnSuspend = v1alpha1.SuspendWait
	case v1alpha1.BackendRayJob: // KubeRay submits the driver
		run.Spec.RayToken = nil
		run.Spec.Driver.PodTemplate = nil
	}
	return run
}

// kaiCRDs are in the folder beside the checkout where the reference material is; a clone elsewhere has none.
func kaiCRDs(t *testing.T) []string {
	t.Helper()
	dir := "../../shared/kai-crds/v0.17.0"
	if _, err := os.Stat(dir); err != nil {
		t.Logf("skipped: what concerns KAI's own objects, since %s is not there: %v", dir, err)
		return nil
	}
	return []string{dir}
}

func TestARealAPIServerAcceptsTheMatrix(t *testing.T) {
	env := testenv.Environment(t)
	crds := kaiCRDs(t)
	env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, crds...)
	withWorkloadAPI(env)
	cfg, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	admin, err := client.New(cfg, client.Options{})
	require.NoError(t, err)
	require.NoError(t, admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(namespace("post-train")), client.FieldOwner("test")))

	accept := func(t *testing.T, objects []*unstructured.Unstructured) {
		t.Helper()
		for _, object := range objects {
			if !installed(object.GroupVersionKind(), crds) {
				continue
			}
			require.NoError(t, dryRun(t.Context(), admin, object), "%s %s", object.GetKind(), object.GetName())
		}
	}
	for _, square := range matrix() {
		t.Run(square.name, func(t *testing.T) {
			objects, err := manifests.Render(square.run(t))
			if err != nil {
				t.Skip("skipped: refused, as its golden file says")
			}
			accept(t, objects)
		})
	}
	for _, backend := range backends {
		t.Run("everything-"+string(backend), func(t *testing.T) { accept(t, render(t, everything(t, backend))) })
	}
}

// withWorkloadAPI turns on what Kubernetes 1.35 has behind feature gates.
func withWorkloadAPI(env *envtest.Environment) {
	args := env.ControlPlane.GetAPIServer().Configure()
	args.Append("feature-gates", "GenericWorkload=true").Append("runtime-config", "scheduling.k8s.io/v1alpha1=true,resource.k8s.io/v1beta1=true")
}

// installed leaves out what no CRD of this test describes.
func installed(kind schema.GroupVersionKind, crds []string) bool {
	switch kind.Group {
	case "resource.nvidia.com":
		return false // its driver has no module here
	case "scheduling.run.ai":
		return len(crds) > 0
	}
	return true
}

func namespace(name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	out.SetName(name)
	return out
}

func TestRefusalsNameTheirRule(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		backend v1alpha1.Backend
		change  func(*v1alpha1.Run)
		says    string
	}{
		{"a gang over RayClusters before KAI 0.15", v1alpha1.BackendRayCluster, func(r *v1alpha1.Run) { r.Spec.Scheduling.KAIVersion = "0.14.7" }, "needs KAI 0.15 or newer"},
		{"a version that was retracted", v1alpha1.BackendJobSet, func(r *v1alpha1.Run) { r.Spec.Scheduling.KAIVersion = "0.20.1" }, "retracted"},
		{"a version that is none", v1alpha1.BackendJobSet, func(r *v1alpha1.Run) { r.Spec.Scheduling.KAIVersion = "latest" }, "write 0.MINOR or 0.MINOR.PATCH"},
		{"a grace period before KAI 0.17", v1alpha1.BackendJobSet, func(r *v1alpha1.Run) {
			r.Spec.Scheduling.KAIVersion = "0.16.8"
			r.Spec.Scheduling.StalenessGracePeriod = &metav1.Duration{Duration: 9e11}
		}, "0.17"},
		{"a group that autoscales from nothing", v1alpha1.BackendRayCluster, func(r *v1alpha1.Run) {
			r.Spec.Scheduling.Gang = v1alpha1.GangCluster
			worker := &r.Spec.Clusters[1].Workers[0]
			worker.MinReplicas, worker.MaxReplicas = new(int32(0)), new(int32(8))
		}, "rule R7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := square{backend: tt.backend, with: v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKAI, Queue: "rl-team"}}.run(t)
			tt.change(run)
			_, err := manifests.Render(run)
			require.ErrorContains(t, err, tt.says)
			require.False(t, strings.HasSuffix(err.Error(), "\n"))
		})
	}
}
