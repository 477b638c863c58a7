package plan

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

func TestAClusterThatHasAllFits(t *testing.T) {
	t.Parallel()
	p := planned(t, gang, nil)
	p.Judge(healthy(t, p))
	require.Equal(t, Verdict{OK, "fits"}, p.Verdict, p.Findings)
}

func TestEachThingThatIsNotThereIsTold(t *testing.T) {
	t.Parallel()
	gpu := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
	}
	gone := Seen[*unstructured.Unstructured]{Err: notThere}
	tests := []struct {
		name    string
		spoil   func(*Sight)
		verdict string
	}{
		{
			"no namespace", func(s *Sight) { s.Namespace.Err = notThere },
			"missing: namespace post-train: there is none; kubectl create namespace post-train",
		},
		{
			"a namespace that goes", func(s *Sight) { s.Namespace.Value.DeletionTimestamp = &metav1.Time{} },
			"refused: namespace post-train: is being deleted",
		},
		{
			"no KubeRay", func(s *Sight) { delete(s.Served, rayCluster()) },
			"missing: RayCluster (ray.io/v1): the cluster does not know it; install the KubeRay operator, or choose another spec.backend",
		},
		{
			"no right", func(s *Sight) { s.Access[0].Allowed.Value, s.Access[2].Allowed.Value = false, false },
			"refused: your rights: you may not get, create serviceaccounts in namespace post-train, which `tandem up` does; docs/user-role.yaml has a role that may",
		},
		{
			"a right that cannot be handed on", func(s *Sight) {
				s.Rules.Value.ResourceRules = []authorizationv1.ResourceRule{
					{Verbs: []string{"get", "list", "watch", "patch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
				}
			},
			"refused: rights of the run: you cannot grant to ServiceAccount qwen3-grpo-peerwatch what you may not do yourself: " +
				"get rayclusters.ray.io qwen3-grpo-rl and 16 more; docs/user-role.yaml has a role that may",
		},
		{
			"no secret", func(s *Sight) { change(s, "Secret hf", gone) },
			"missing: Secret hf: there is none in namespace post-train, and rl/head, rl/trainer, gym/head, gym/sandbox need it",
		},
		{
			"no key in the secret", func(s *Sight) {
				change(s, "Secret hf", Seen[*unstructured.Unstructured]{Value: object(t, `{data: {other: eA==}}`)})
			},
			"missing: Secret hf: has no key token, and rl/head, rl/trainer, gym/head, gym/sandbox need it",
		},
		{
			"no device class", func(s *Sight) { change(s, "DeviceClass roce", gone) },
			"missing: DeviceClass roce: there is none, and a claim of the run names it",
		},
		{
			"no priority class", func(s *Sight) { change(s, "PriorityClass train", gone) },
			"missing: PriorityClass train: there is none, and rl/head, rl/trainer, gym/head and others need it",
		},
		{
			"a volume that is lost", func(s *Sight) { volume(t, s, `{status: {phase: Lost}}`) },
			"missing: PersistentVolumeClaim models: has lost its volume, and rl/head, rl/trainer, gym/head, gym/sandbox need it",
		},
		{
			"a volume that is not bound", func(s *Sight) { volume(t, s, `{spec: {storageClassName: eager}, status: {phase: Pending}}`) },
			"missing: PersistentVolumeClaim models: is not bound (class eager), and rl/head, rl/trainer, gym/head, gym/sandbox need it; " +
				"kubectl describe pvc models -n post-train",
		},
		{
			"a volume for one pod", func(s *Sight) { volume(t, s, `{spec: {accessModes: [ReadWriteOncePod]}, status: {phase: Bound}}`) },
			"refused: PersistentVolumeClaim models: is ReadWriteOncePod, and 8 pods want it",
		},
		{
			"an older KAI", func(s *Sight) { delete(s.PodGroupFields.Value, "stalenessGracePeriod") },
			"refused: KAI 0.17.0: the cluster's KAI is older than 0.17: its PodGroups have no stalenessGracePeriod; " +
				"write its version in spec.scheduling.kaiVersion",
		},
		{
			"no topology", func(s *Sight) { s.Topology.Err = notThere },
			"missing: topology dc: there is none, so KAI never starts the run; kubectl get topologies.kai.scheduler",
		},
		{
			"no level", func(s *Sight) { s.Topology.Value.Spec.Levels = s.Topology.Value.Spec.Levels[:1] },
			"missing: topology dc: has no level example.com/rack, only example.com/block",
		},
		{
			"no queue", func(s *Sight) { s.Queues.Value = s.Queues.Value[1:] },
			"missing: queue rl-team: there is none; kubectl get queues.scheduling.run.ai lists those that there are",
		},
		{
			"no ancestor", func(s *Sight) { s.Queues.Value = s.Queues.Value[:1] },
			"missing: queue rl-team: its ancestor ml does not exist, so KAI leaves the queue out",
		},
		{
			"a circle of queues", func(s *Sight) { s.Queues.Value[1].Spec.ParentQueue = "rl-team" },
			"missing: queue rl-team: is its own ancestor, so KAI leaves the queue out",
		},
		{
			"a queue that is no leaf", func(s *Sight) { s.Queues.Value[2].Spec.ParentQueue = "rl-team" },
			"refused: queue rl-team: has queues below it (other), and only leaves take pods; name one of them",
		},
		{
			"a limit that is reached", func(s *Sight) { s.Queues.Value[0].Status.Allocated = gpu(40) },
			"short: queue rl-team: nvidia.com/gpu: the run wants 32, and 40 of the limit of 64 are taken",
		},
		{
			"a limit further up", func(s *Sight) { s.Queues.Value[1].Spec.Resources.GPU.Limit = 16 },
			"short: queue ml: nvidia.com/gpu: the run wants 32, and 0 of the limit of 16 are taken",
		},
		{
			"a limit in MB", func(s *Sight) { s.Queues.Value[0].Spec.Resources.Memory.Limit = 3_000_000 },
			"short: queue rl-team: memory: the run wants 3280.28Gi, and 0 of the limit of 2793.97Gi are taken",
		},
		{
			"a limit in thousandths", func(s *Sight) { s.Queues.Value[0].Spec.Resources.CPU.Limit = 400_000 },
			"short: queue rl-team: cpu: the run wants 420.09, and 0 of the limit of 400 are taken",
		},
		{
			"no limit, which is 0", func(s *Sight) { s.Queues.Value[0].Spec.Resources.CPU.Limit = 0 },
			"short: queue rl-team: cpu: the limit is 0 or missing, so nothing runs; -1 is no limit",
		},
		{
			"a quota for what cannot be preempted", func(s *Sight) {
				change(s, "PriorityClass train", Seen[*unstructured.Unstructured]{Value: object(t, `{value: 100}`)})
				s.Queues.Value[0].Status.AllocatedNonPreemptible = gpu(40)
			},
			"short: queue rl-team: nvidia.com/gpu: the run cannot be preempted, so it must fit the quota: it wants 32, and 40 of 64 are taken",
		},
		{
			"a resource quota", func(s *Sight) {
				s.Quotas.Value = []corev1.ResourceQuota{quotaOf("requests.nvidia.com/gpu", "32", "8")}
			},
			"short: resource quota team: nvidia.com/gpu: the run wants 32, and 8 of 32 are taken",
		},
		{
			"a resource quota of pods", func(s *Sight) { s.Quotas.Value = []corev1.ResourceQuota{quotaOf("pods", "10", "2")} },
			"short: resource quota team: pods: the run wants 9, and 2 of 10 are taken",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := planned(t, gang, nil)
			s := healthy(t, p)
			tt.spoil(s)
			p.Judge(s)
			require.Equal(t, tt.verdict, p.Verdict.Text, p.Findings)
			require.True(t, p.Verdict.State.Blocks())
		})
	}
}

func TestWhatWorksInSpiteOfAWarningFits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		spoil   func(*Sight)
		finding Finding
	}{
		{
			"a volume of one node", func(s *Sight) { volume(t, s, `{spec: {accessModes: [ReadWriteOnce]}, status: {phase: Bound}}`) },
			Finding{Warning, "PersistentVolumeClaim models", "is bound, but ReadWriteOnce: its 8 pods must all run on one node"},
		},
		{
			"a volume that waits for its pod", func(s *Sight) { volume(t, s, `{spec: {storageClassName: lazy}, status: {phase: Pending}}`) },
			Finding{OK, "PersistentVolumeClaim models", "is bound when the first pod needs it (class lazy)"},
		},
		{
			"over the quota of a queue", func(s *Sight) { s.Queues.Value[0].Spec.Resources.GPU.Quota = 16 },
			Finding{Warning, "queue rl-team", "nvidia.com/gpu: the run wants 32, and 0 of the quota of 16 are taken: what is over it may be taken down for others"},
		},
		{
			"a resource quota that holds for other pods", func(s *Sight) {
				quota := quotaOf("pods", "1", "1")
				quota.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
				s.Quotas.Value = []corev1.ResourceQuota{quota}
			},
			Finding{OK, "queue rl-team", "has room: the run wants 32 GPUs, 0 are taken, limit 64"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := planned(t, gang, nil)
			s := healthy(t, p)
			tt.spoil(s)
			p.Judge(s)
			require.Contains(t, p.Findings, tt.finding)
			require.Equal(t, Verdict{OK, "fits"}, p.Verdict)
		})
	}
}

// Not to be allowed to look is no failure.
func TestWhatMayNotBeLookedAtCannotBeTold(t *testing.T) {
	t.Parallel()
	p := planned(t, gang, nil)
	s := healthy(t, p)
	for about := range s.Refs {
		change(s, about, Seen[*unstructured.Unstructured]{Err: forbidden})
	}
	s.Namespace.Err, s.Nodes.Err, s.Pods.Err, s.Quotas.Err, s.Queues.Err, s.Topology.Err = forbidden, forbidden, forbidden, forbidden, forbidden, forbidden
	s.Rules.Err = errors.New("no route to host")
	s.PodGroupFields.Err = errNoSchema
	s.Access[0].Allowed.Err = errors.New("no route to host")
	kind := s.Served[rayCluster()]
	kind.Err = forbidden
	s.Served[rayCluster()] = kind
	p.Judge(s)
	require.Equal(t, Verdict{OK, "fits, as far as can be told (14 of 16 checks cannot)"}, p.Verdict, p.Findings)
	require.Contains(t, p.Findings, Finding{Unknown, "nodes", "you may not look"})
	require.Contains(t, p.Findings, Finding{Unknown, "your rights", "no route to host"})

	p, s = planned(t, gang, nil), nil
	s = healthy(t, p)
	s.Pods.Err = forbidden
	p.Judge(s)
	require.Contains(t, p.Findings, Finding{Unknown, "pods on the nodes", "you may not look"})
}

func TestANewerKAIIsTold(t *testing.T) {
	t.Parallel()
	p := planned(t, gang, func(run *v1alpha1.Run) { run.Spec.Scheduling.KAIVersion = "0.16.8" })
	p.Judge(healthy(t, p))
	require.Equal(t, "refused: KAI 0.16.8: the cluster's KAI is 0.17 or newer: its PodGroups have stalenessGracePeriod; "+
		"write its version in spec.scheduling.kaiVersion", p.Verdict.Text)
}

func TestATopologyOverAWholeObjectIsTold(t *testing.T) {
	t.Parallel()
	p := planned(t, gang, func(run *v1alpha1.Run) {
		run.Spec.Backend, run.Spec.Scheduling.KAIVersion = v1alpha1.BackendJobSet, "0.14.7"
	})
	s := healthy(t, p)
	s.PodGroupFields.Value = nil
	p.Judge(s)
	require.Contains(t, p.Findings, Finding{
		Warning, "topology dc", "KAI 0.14.7 keeps all pods of JobSet qwen3-grpo within one example.com/rack, not group by group; the check of nodes does not know",
	})
}

// A run that is up already is not counted against itself.
func TestARunThatIsUpFits(t *testing.T) {
	t.Parallel()
	p := planned(t, gang, nil)
	s := healthy(t, p)
	mine := map[string]string{v1alpha1.LabelRun: p.Run}
	for i := range 4 {
		s.Pods.Value = append(s.Pods.Value, running(s.Nodes.Value[i].Name, mine, "100", 8))
	}
	s.Queues.Value[0].Spec.Resources.GPU.Limit = 32
	s.Queues.Value[0].Status.Allocated = corev1.ResourceList{"nvidia.com/gpu": *quantity(32)}
	s.Quotas.Value = []corev1.ResourceQuota{quotaOf("requests.nvidia.com/gpu", "32", "32")}
	p.Judge(s)
	require.Equal(t, "fits", p.Verdict.Text, p.Findings)
}

func TestKueueIsAskedForItsLocalQueue(t *testing.T) {
	t.Parallel()
	kueue := func(run *v1alpha1.Run) {
		run.Spec.Backend, run.Spec.Scheduling = v1alpha1.BackendJobSet, v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerKueue, Queue: "team", Gang: v1alpha1.GangRun}
	}
	p := planned(t, gang, kueue)
	require.Equal(t, []Gang{{Name: "Kueue Workload of JobSet qwen3-grpo", Min: 9, Pods: 9}}, p.Gangs)
	s := healthy(t, p)
	p.Judge(s)
	require.Equal(t, "fits", p.Verdict.Text, p.Findings)

	p = planned(t, gang, kueue)
	s.LocalQueue.Err = notThere
	p.Judge(s)
	require.Equal(t, "missing: local queue team: there is none in namespace post-train, or no Kueue; kubectl get localqueues -n post-train", p.Verdict.Text)
}

func TestAWorkloadIsAGang(t *testing.T) {
	t.Parallel()
	p := planned(t, gang, func(run *v1alpha1.Run) {
		run.Spec.Scheduling = v1alpha1.Scheduling{Scheduler: v1alpha1.SchedulerWorkload, Gang: v1alpha1.GangCluster}
	})
	require.Equal(t, []Gang{
		{Name: "Workload qwen3-grpo, pod group rl", Min: 6, Pods: 6},
		{Name: "Workload qwen3-grpo, pod group gym", Min: 3, Pods: 3},
	}, p.Gangs)
}
