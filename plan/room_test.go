package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/kai"
)

// roomy is a run of one group, on any scheduler, and the nodes that it is placed on.
type roomy struct {
	pods, segment, gpus int32
	level               string
	change              func(*v1alpha1.Run)
	nodes               []corev1.Node
	running             []corev1.Pod
}

func (r roomy) judge(t *testing.T) *Plan {
	t.Helper()
	run := load(t, gang)
	run.Spec.Scheduling.Topology = nil
	if r.level != "" {
		run.Spec.Scheduling.Topology = &v1alpha1.Topology{Name: "dc", Required: r.level}
	}
	worker := &run.Spec.Clusters[0].Workers[0]
	worker.Replicas, worker.SegmentSize, worker.GPUs, worker.Claims = &r.pods, r.segment, r.gpus, nil
	worker.Resources = nil
	run.Spec.Claims = nil
	run.Spec.Clusters[0].Head.Resources, run.Spec.Clusters[1].Workers = nil, nil
	if r.change != nil {
		r.change(run)
	}
	p, err := Of(run)
	require.NoError(t, err)
	p.Findings = nil
	s := healthy(t, p)
	s.Topology.Value.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "block"}, {NodeLabel: "rack"}}
	s.Nodes.Value, s.Pods.Value = append(r.nodes, node("small", nil, "8", "8Gi", 0)), r.running
	p.judgeRoom(s)
	p.conclude()
	return p
}

// gpuNodes have so many GPUs each.
func gpuNodes(gpus ...int64) []corev1.Node {
	var out []corev1.Node
	for i, n := range gpus {
		out = append(out, node(fmt.Sprintf("n%d", i), map[string]string{"rack": fmt.Sprintf("r%d", i/2), "block": "b"}, "64", "512Gi", n))
	}
	return out
}

func trainer(change func(*v1alpha1.WorkerGroup)) func(*v1alpha1.Run) {
	return func(run *v1alpha1.Run) { change(&run.Spec.Clusters[0].Workers[0]) }
}

func changed(nodes []corev1.Node, change func(*corev1.Node)) []corev1.Node {
	for i := range nodes {
		change(&nodes[i])
	}
	return nodes
}

func TestPodsFindRoomOrWhatIsShortIsTold(t *testing.T) {
	t.Parallel()
	const fits = "fits"
	tests := []struct {
		name string
		roomy
		verdict string
	}{
		{"as many nodes as pods", roomy{pods: 4, gpus: 8, nodes: gpuNodes(8, 8, 8, 8)}, fits},
		{
			"one node less",
			roomy{pods: 4, gpus: 8, nodes: gpuNodes(8, 8, 8)},
			"short: nvidia.com/gpu: group rl/trainer wants 4 x 8, and 3 nodes have 8 free",
		},
		{
			"GPUs that others hold",
			roomy{pods: 4, gpus: 8, nodes: gpuNodes(8, 8, 8, 8), running: []corev1.Pod{running("n1", nil, "1", 1)}},
			"short: nvidia.com/gpu: group rl/trainer wants 4 x 8, and 3 nodes have 8 free (4 nodes have 8 when idle)",
		},
		{
			"GPUs that the run itself holds are its own",
			roomy{pods: 1, gpus: 8, nodes: gpuNodes(8), running: []corev1.Pod{running("n0", map[string]string{v1alpha1.LabelRun: "qwen3-grpo"}, "1", 8)}},
			fits,
		},
		{"a pod on a node that is gone", roomy{pods: 1, gpus: 8, nodes: gpuNodes(8), running: []corev1.Pod{running("gone", nil, "1", 8)}}, fits},
		{"several pods on one node", roomy{pods: 5, gpus: 2, nodes: gpuNodes(8, 2)}, fits},
		{
			"several pods on one node, and not enough",
			roomy{pods: 6, gpus: 2, nodes: gpuNodes(8, 3)},
			"short: nvidia.com/gpu: group rl/trainer wants 6 x 2, and 2 nodes have room for 5",
		},
		{
			"several pods on one node, if others went",
			roomy{pods: 6, gpus: 2, nodes: gpuNodes(8, 4), running: []corev1.Pod{running("n1", nil, "1", 2)}},
			"short: nvidia.com/gpu: group rl/trainer wants 6 x 2, and 2 nodes have room for 5 (room for 6 when idle)",
		},
		{
			"no GPU at all",
			roomy{pods: 1, gpus: 8},
			"short: nvidia.com/gpu: group rl/trainer wants 1 x 8, and no node has 8 free",
		},
		{
			"one node",
			roomy{pods: 2, gpus: 8, nodes: gpuNodes(8)},
			"short: nvidia.com/gpu: group rl/trainer wants 2 x 8, and 1 node has 8 free",
		},
		{
			"memory",
			roomy{pods: 2, gpus: 1, nodes: gpuNodes(8), change: trainer(func(w *v1alpha1.WorkerGroup) { w.Resources = asks("1", "300Gi") })},
			"short: memory: group rl/trainer wants 2 x 300.03Gi, and 1 node has 300.03Gi free",
		},
		{
			"another device",
			roomy{pods: 1, gpus: 1, nodes: gpuNodes(8), change: trainer(func(w *v1alpha1.WorkerGroup) {
				w.Resources = corev1.ResourceList{"rdma/hca": *quantity(4)}
			})},
			"short: rdma/hca: group rl/trainer wants 1 x 4, and no node has 4 free",
		},
		{
			"each for itself is enough, all of them are not",
			roomy{
				pods: 2, gpus: 4, nodes: gpuNodes(8, 8), change: trainer(func(w *v1alpha1.WorkerGroup) { w.Resources = asks("40", "1Gi") }),
				running: []corev1.Pod{running("n0", nil, "40", 0), running("n1", nil, "1", 8)},
			},
			"short: cpu: group rl/trainer wants 2 x 40.01, and 1 node has 40.01 free (2 nodes have 40.01 when idle)",
		},
		{
			"GPUs here and CPUs there",
			roomy{
				pods: 1, gpus: 8, nodes: gpuNodes(8, 8), change: trainer(func(w *v1alpha1.WorkerGroup) { w.Resources = asks("40", "1Gi") }),
				running: []corev1.Pod{running("n0", nil, "40", 0), running("n1", nil, "1", 8)},
			},
			"short: cpu: group rl/trainer wants 1 x 40.01, and no node with enough nvidia.com/gpu and memory has 40.01 free (2 nodes with enough nvidia.com/gpu and memory have 40.01 when idle)",
		},
		{
			"pods that a node may have",
			roomy{pods: 3, gpus: 1, nodes: changed(gpuNodes(8), func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourcePods] = *quantity(2) })},
			"short: pods: group rl/trainer wants 3 pods, and 1 node with enough nvidia.com/gpu and memory and cpu has room for 2",
		},
		{
			"a selector that no node has",
			roomy{pods: 1, gpus: 1, nodes: gpuNodes(8), change: trainer(func(w *v1alpha1.WorkerGroup) { w.NodeSelector = map[string]string{"gpu": "gb300"} })},
			"short: nodes: group rl/trainer wants 1 pod, and no node is for it: 2 not selected",
		},
		{"a selector that one node has", roomy{pods: 1, gpus: 1, nodes: gpuNodes(8), change: trainer(func(w *v1alpha1.WorkerGroup) {
			w.NodeSelector = map[string]string{"rack": "r0"}
		})}, fits},
		{
			"node affinity",
			roomy{pods: 1, gpus: 1, nodes: gpuNodes(8), change: trainer(func(w *v1alpha1.WorkerGroup) {
				w.PodTemplate = v1alpha1.NewPodTemplate([]byte(`{"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
					{"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r7"]}]}]}}}}}`))
			})},
			"short: nodes: group rl/trainer wants 1 pod, and no node is for it: 2 not selected",
		},
		{
			"a taint",
			roomy{pods: 1, gpus: 1, nodes: changed(gpuNodes(8), taint)},
			"short: nvidia.com/gpu: group rl/trainer wants 1 x 1, and no node has 1 free; not for it: 1 tainted nvidia.com/gpu:NoSchedule",
		},
		{"a taint that is tolerated", roomy{pods: 1, gpus: 1, nodes: changed(gpuNodes(8), taint), change: trainer(func(w *v1alpha1.WorkerGroup) {
			w.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
		})}, fits},
		{"a taint that only advises", roomy{pods: 1, gpus: 1, nodes: changed(gpuNodes(8), func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule}}
		})}, fits},
		{
			"cordoned nodes",
			roomy{pods: 1, gpus: 1, nodes: changed(gpuNodes(8), func(n *corev1.Node) { n.Spec.Unschedulable = true })},
			"short: nvidia.com/gpu: group rl/trainer wants 1 x 1, and no node has 1 free; not for it: 1 cordoned",
		},
		{
			"nodes that are not ready",
			roomy{pods: 1, gpus: 1, nodes: changed(gpuNodes(8, 8), func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
			})},
			"short: nvidia.com/gpu: group rl/trainer wants 1 x 1, and no node has 1 free; not for it: 2 not ready",
		},
		{
			"ports of the node",
			roomy{pods: 3, gpus: 1, nodes: gpuNodes(8, 8), change: trainer(func(w *v1alpha1.WorkerGroup) {
				w.PodTemplate = v1alpha1.NewPodTemplate([]byte(`{"spec": {"hostNetwork": true}}`))
			})},
			"short: nvidia.com/gpu: group rl/trainer wants 3 x 1, and 2 nodes have 1 free",
		},
		{"two segments in two racks", roomy{pods: 4, segment: 2, gpus: 8, level: "rack", nodes: gpuNodes(8, 8, 8, 8)}, fits},
		{
			"a group in one rack",
			roomy{pods: 4, gpus: 8, level: "rack", nodes: gpuNodes(8, 8, 8, 8)},
			"short: nvidia.com/gpu: group rl/trainer wants 4 x 8 within one rack, and in the best, r0, 2 nodes have 8 free; not for it: 1 without label rack",
		},
		{
			"a segment that finds no rack",
			roomy{pods: 4, segment: 2, gpus: 8, level: "rack", nodes: gpuNodes(8, 4, 8, 8, 8, 0)},
			"short: nvidia.com/gpu: group rl/trainer-segment-1 wants 2 x 8 within one rack, and in the best, r0, 1 node has 8 free; not for it: 1 without label rack",
		},
		{
			"nodes without the level",
			roomy{pods: 1, gpus: 1, level: "row", nodes: gpuNodes(8)},
			"short: nodes: group rl/trainer wants 1 pod within one row, and no node is for it: 2 without label row",
		},
		{
			"CPUs that the trainer takes",
			roomy{pods: 1, gpus: 8, nodes: gpuNodes(8), change: func(run *v1alpha1.Run) {
				run.Spec.Clusters[0].Workers[0].Resources, run.Spec.Clusters[0].Head.Resources = asks("60", "1Gi"), asks("10", "1Gi")
			}},
			"short: cpu: group rl/head wants 1 x 10.02, and no node has 10.02 free beside the rest of the run (1 node has 10.02 when idle)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := tt.judge(t)
			require.Equal(t, tt.verdict, p.Verdict.Text, p.Findings)
		})
	}
}

func taint(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
}

func TestOfAGroupsSegmentsOneIsToldThatFindsNoRoom(t *testing.T) {
	t.Parallel()
	p := roomy{pods: 8, segment: 2, gpus: 8, nodes: gpuNodes(8)}.judge(t)
	short := slices.DeleteFunc(p.Findings, func(f Finding) bool { return f.State != Short })
	require.Len(t, short, 1)
}

func TestPlacingTakesNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	var nodes []corev1.Node
	for i := range 60 {
		nodes = append(nodes, node(fmt.Sprintf("n%02d", i), nil, "64", "512Gi", int64(i%9)))
	}
	p := roomy{pods: 40, gpus: 3, nodes: nodes}.judge(t)
	s := &Sight{Nodes: Seen[[]corev1.Node]{Value: nodes}}
	rooms := p.rooms(s.Nodes.Value, nil)
	total := map[string]int64{}
	for i := range p.crews {
		on, _ := p.crews[i].placeAt(p.crews[i].site(rooms, nil))
		for name, n := range on {
			total[name] += n
		}
	}
	for _, r := range rooms {
		for name, left := range r.free {
			require.GreaterOrEqual(t, left, int64(0), "%s of %s", name, r.node.Name)
		}
	}
	require.NotEmpty(t, total)
}

func TestRequestsAreThoseThatTheSchedulerCounts(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	each := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: asks(cpu, "1Mi")}
	}
	tests := []struct {
		name string
		spec corev1.PodSpec
		cpu  int64
	}{
		{"containers add up", corev1.PodSpec{Containers: []corev1.Container{{Resources: each("1")}, {Resources: each("2")}}}, 3000},
		{"the largest init container counts", corev1.PodSpec{
			InitContainers: []corev1.Container{{Resources: each("5")}, {Resources: each("4")}}, Containers: []corev1.Container{{Resources: each("1")}},
		}, 5000},
		{"sidecars count all the time", corev1.PodSpec{
			InitContainers: []corev1.Container{{RestartPolicy: &always, Resources: each("2")}, {Resources: each("1")}}, Containers: []corev1.Container{{Resources: each("4")}},
		}, 6000},
		{"a limit without a request is one", corev1.PodSpec{Containers: []corev1.Container{
			{Resources: corev1.ResourceRequirements{Limits: asks("3", "1Mi")}},
		}}, 3000},
		{"overhead counts", corev1.PodSpec{Overhead: asks("1", "1Mi"), Containers: []corev1.Container{{Resources: each("1")}}}, 2000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := tt.spec.DeepCopy()
			require.Equal(t, tt.cpu, requestsOf(tt.spec)[corev1.ResourceCPU])
			require.Equal(t, *before, tt.spec, "the template is left alone")
		})
	}
}

func TestAmountsAreForPeople(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   corev1.ResourceName
		amount int64
		want   string
	}{
		{corev1.ResourceCPU, 250, "250m"},
		{corev1.ResourceCPU, 100010, "100.01"},
		{corev1.ResourceMemory, 64 << 20, "64Mi"},
		{corev1.ResourceMemory, 850<<30 + 32<<20, "850.03Gi"},
		{corev1.ResourceMemory, 3e12, "2793.97Gi"},
		{"nvidia.com/gpu", 8, "8"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, amountOf(tt.name, tt.amount))
	}
	require.Equal(t, []corev1.ResourceName{"nvidia.com/gpu", "rdma/hca", "memory", "cpu", "pods"},
		Resources{"pods": 1, "cpu": 1, "rdma/hca": 1, "memory": 1, "nvidia.com/gpu": 1}.names())
}
