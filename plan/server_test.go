package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/internal/testenv"
)

// cluster is a real API server with what testdata/cluster.yaml has, and hand-made nodes.
type cluster struct {
	client.Client
	env    *envtest.Environment
	config *rest.Config
}

// kaiCRDs are KAI's own where they lie beside the repository.
func kaiCRDs(t *testing.T) string {
	t.Helper()
	const own = "../../shared/kai-crds/v0.17.0"
	if _, err := os.Stat(own); err != nil {
		t.Logf("KAI's own CRDs are not at hand (%v): those of testdata/crds stand in for them", err)
		return "testdata/crds"
	}
	return own
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	env := testenv.Environment(t)
	env.CRDDirectoryPaths = append(env.CRDDirectoryPaths, kaiCRDs(t))
	env.CRDInstallOptions.MaxTime = 2 * time.Minute // its own ten seconds are short on a machine that is busy
	config, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	admin, err := client.New(config, client.Options{})
	require.NoError(t, err)
	c := &cluster{admin, env, config}
	for _, object := range documents(t, "testdata/cluster.yaml") {
		require.NoError(t, c.Create(t.Context(), object), object.GetName())
	}
	for i := range 4 {
		rack := map[string]string{"example.com/block": "b0", "example.com/rack": fmt.Sprintf("r%d", i/2)}
		c.addNode(t, node(fmt.Sprintf("gpu-%d", i), rack, "128", "1Ti", 8))
	}
	c.addNode(t, node("cpu-0", nil, "64", "256Gi", 0))
	return c
}

// documents reads a stream of objects.
func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.Open(file)
	require.NoError(t, err)
	defer data.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(data, 4096)
	var out []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, object)
	}
}

// addNode makes a node that is ready: the server taints new ones until a kubelet has spoken.
func (c *cluster) addNode(t *testing.T, n corev1.Node) {
	t.Helper()
	status := n.Status
	require.NoError(t, c.Create(t.Context(), &n))
	n.Spec.Taints = nil
	require.NoError(t, c.Update(t.Context(), &n))
	n.Status = status
	require.NoError(t, c.Status().Update(t.Context(), &n))
}

// look plans the run of gang.yaml on the cluster as it is, with the rights of a configuration.
func (c *cluster) look(t *testing.T, config *rest.Config, change func(*v1alpha1.Run)) *Plan {
	t.Helper()
	p := planned(t, gang, change)
	s, err := Look(t.Context(), config, p)
	require.NoError(t, err)
	p.Judge(s)
	return p
}

// user may do in namespace post-train what the role says; an empty name is no role.
func (c *cluster) user(t *testing.T, name, role string) *rest.Config {
	t.Helper()
	user, err := c.env.AddUser(envtest.User{Name: name, Groups: []string{"people"}}, nil)
	require.NoError(t, err)
	if role != "" {
		binding := documents(t, "testdata/binding.yaml")[0]
		binding.SetName(name)
		require.NoError(t, unstructured.SetNestedField(binding.Object, role, "roleRef", "name"))
		subject := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}
		require.NoError(t, unstructured.SetNestedSlice(binding.Object, []any{subject}, "subjects"))
		require.NoError(t, c.Create(t.Context(), binding))
	}
	return user.Config()
}

func TestARealClusterIsLookedAt(t *testing.T) {
	c := newCluster(t)

	p := c.look(t, c.config, nil)
	require.Equal(t, Verdict{OK, "fits"}, p.Verdict, p.Findings)
	var out bytes.Buffer
	require.NoError(t, p.WriteText(&out))
	golden.Assert(t, out.String(), "fits.txt")

	t.Run("what others hold", func(t *testing.T) { othersHold(t, c) })
	t.Run("what users may not see", func(t *testing.T) { usersMayNotSee(t, c) })
	t.Run("what is not there", func(t *testing.T) { notThereYet(t, c) })
	t.Run("queues", func(t *testing.T) { queuesAreRead(t, c) })
}

func othersHold(t *testing.T, c *cluster) {
	pod := running("gpu-3", nil, "1", 1)
	pod.Namespace = "default"
	pod.Spec.Containers[0].Image = "x:1"
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": *quantity(1)}
	require.NoError(t, c.Create(t.Context(), &pod))
	const short = "short: nvidia.com/gpu: group rl/trainer-segment-1 wants 2 x 8 within one example.com/rack, and in the best, r1, 1 node has 8 free" +
		" (2 nodes have 8 when idle); not for it: 1 without label example.com/rack"
	p := c.look(t, c.config, nil)
	require.Equal(t, short, p.Verdict.Text)
	var out bytes.Buffer
	require.NoError(t, p.WriteText(&out))
	golden.Assert(t, out.String(), "short.txt")

	pod.Status.Phase = corev1.PodSucceeded
	require.NoError(t, c.Status().Update(t.Context(), &pod))
	require.Equal(t, "fits", c.look(t, c.config, nil).Verdict.Text, "a pod that has ended holds nothing")
}

func onDefault(run *v1alpha1.Run) {
	run.Spec.Scheduling = v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerDefault, Gang: v1alpha1.GangNone}
}

func usersMayNotSee(t *testing.T, c *cluster) {
	for _, object := range documents(t, "../docs/user-role.yaml") {
		if object.GetKind() == "ClusterRole" {
			require.NoError(t, c.Create(t.Context(), object))
		}
	}
	p := c.look(t, c.user(t, "researcher", "tandem-user"), onDefault)
	require.Equal(t, OK, p.Verdict.State, p.Findings)
	require.Contains(t, p.Verdict.Text, "fits, as far as can be told")
	require.Contains(t, p.Findings, Finding{OK, "your rights", "you may do in namespace post-train what `tandem up` does"})
	require.Contains(t, p.Findings, Finding{OK, "rights of the run", "you may grant what its pods need"})
	require.Contains(t, p.Findings, Finding{Unknown, "nodes", "you may not look"})
	require.Contains(t, p.Findings, Finding{Unknown, "Secret hf", "you may not look"})

	p = c.look(t, c.user(t, "nobody", ""), nil)
	require.Equal(t, Refused, p.Verdict.State)
	require.Contains(t, p.Verdict.Text, "refused: your rights: you may not get, list, create, patch serviceaccounts in namespace post-train")

	// The server lets nobody grant more than he has, whatever he may do with roles.
	partial := documents(t, "testdata/binding.yaml")[1]
	require.NoError(t, c.Create(t.Context(), partial))
	p = c.look(t, c.user(t, "partial", partial.GetName()), nil)
	require.Contains(t, p.Verdict.Text, "refused: rights of the run: you cannot grant to ServiceAccount qwen3-grpo-peerwatch", p.Findings)
}

func notThereYet(t *testing.T, c *cluster) {
	verdict := func(change func(*v1alpha1.Run)) string { return c.look(t, c.config, change).Verdict.Text }
	require.Equal(t, "missing: ComputeDomain (resource.nvidia.com/v1beta1): the cluster does not know it; install NVIDIA's DRA driver, or leave the computeDomain claims out",
		verdict(func(run *v1alpha1.Run) {
			run.Spec.Claims[0].Devices, run.Spec.Claims[0].ComputeDomain = nil, &v1alpha1.ComputeDomain{APIVersion: v1alpha1.DefaultComputeDomainAPI}
		}))
	require.Equal(t, "missing: DeviceClass gb300: there is none, and a claim of the run names it",
		verdict(func(run *v1alpha1.Run) { run.Spec.Claims[0].Devices.DeviceClass = "gb300" }))
	require.Equal(t, "missing: Secret hf: has no key other, and rl/head, rl/trainer, gym/head, gym/sandbox need it",
		verdict(func(run *v1alpha1.Run) { run.Spec.Env[0].ValueFrom.SecretKeyRef.Key = "other" }))
	require.Equal(t, "missing: namespace elsewhere: there is none; kubectl create namespace elsewhere",
		verdict(func(run *v1alpha1.Run) { run.Metadata.Namespace = "elsewhere" }))
	require.Equal(t, "missing: Workload (scheduling.k8s.io/v1alpha1): the cluster does not know it; start the API server with the feature gate "+
		"GenericWorkload and scheduling.k8s.io/v1alpha1, or choose another spec.scheduling.scheduler",
		verdict(func(run *v1alpha1.Run) {
			run.Spec.Scheduling = v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerWorkload, Gang: v1alpha1.GangRun}
		}))
	require.Contains(t, verdict(func(run *v1alpha1.Run) {
		run.Spec.Backend = v1alpha1.BackendJobSet
		run.Spec.Scheduling = v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKueue, Queue: "team", Gang: v1alpha1.GangRun}
	}), "missing: local queue team: there is none in namespace post-train, or no Kueue")
}

func queuesAreRead(t *testing.T, c *cluster) {
	queue := &unstructured.Unstructured{}
	queue.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.run.ai", Version: "v2", Kind: "Queue"})
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Name: "rl-team"}, queue))
	require.NoError(t, unstructured.SetNestedField(queue.Object, map[string]any{"nvidia.com/gpu": "40", "cpu": "4"}, "status", "allocated"))
	require.NoError(t, c.Status().Update(t.Context(), queue))
	require.Equal(t, "short: queue rl-team: nvidia.com/gpu: the run wants 32, and 40 of the limit of 64 are taken", c.look(t, c.config, nil).Verdict.Text)

	require.NoError(t, c.Delete(t.Context(), queue))
	require.Contains(t, c.look(t, c.config, nil).Verdict.Text, "missing: queue rl-team: there is none")
}

func TestAClusterThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Look(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, planned(t, gang, nil))
	require.ErrorContains(t, err, "asking http://127.0.0.1:1")
}
