package reap

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const now = 5 * time.Minute // after start

// stuckPod was scheduled to node-1 at start, and hangs there.
func stuckPod() Pod {
	return Pod{
		Name: "w-1", UID: "uid-1", Node: "node-1", Scheduled: start, Preparing: true, Gang: "run a", Returns: true,
		Cause: Cause{Reason: "FailedPrepareDynamicResources", Note: "imex", Last: start.Add(4 * time.Minute)},
	}
}

func oneStuckPod() Observation { return Observation{Pods: []Pod{stuckPod()}} }

// deleted books a pod some minutes after start; a negative number is before.
func deleted(o *Observation, node, gang string, minutes ...int) {
	for _, minute := range minutes {
		at := start.Add(time.Duration(minute) * time.Minute)
		name := fmt.Sprintf("%s-%s-%d", node, gang, minute)
		o.Book = o.Book.withDeletion(Pod{Name: name, UID: name, Node: node, Gang: gang}, at)
	}
}

func excluded(o *Observation, tainted bool) {
	o.Book = o.Book.withExclusion("node-1", "too many", start)
	if tainted {
		o.Book = o.Book.withTaint("node-1")
	}
}

func tainting(p *Policy) { p.Exclude = ExcludeTaint }

const stuckThere = "stuck on node node-1 since 2026-01-01T12:00:00Z"

// cases are a pod that is stuck at 12:00 and looked at at 12:05, changed in one way. docs/reap.md shows them all.
var cases = []struct {
	name   string
	change func(*Observation)
	policy func(*Policy)
	want   Kind // empty: no action
	reason string
	again  time.Duration // after start
}{
	{"a pod that is stuck, and an Event of the kubelet says why", nil, nil, Delete, stuckThere + ": FailedPrepareDynamicResources: imex", 0},

	// Whether it is stuck.
	{"W2 a pod that was scheduled a moment ago, however long it was queued", func(o *Observation) {
		o.Pods[0].Scheduled = start.Add(4 * time.Minute)
	}, nil, Wait, "", 7 * time.Minute},
	{"a pod that is queued, has started, or pulls its image", func(o *Observation) { o.Pods[0].Preparing = false }, nil, "", "", 0},
	{"a pod that is being deleted", func(o *Observation) { o.Pods[0].Deleting = true }, nil, "", "", 0},
	{"a pod whose sandbox came after the trouble", func(o *Observation) { o.Pods[0].Cause.Over = true }, nil, Wait, "its sandbox is there", 0},

	// Why it is stuck.
	{"W3 a pod that no Event explains", func(o *Observation) { o.Pods[0].Cause = Cause{} }, nil, Wait, "no Event names a cause", 15 * time.Minute},
	{"W3 a pod that no Event has explained for long", func(o *Observation) {
		o.Pods[0].Cause, o.Pods[0].Scheduled = Cause{}, start.Add(-10*time.Minute)
	}, nil, Unexplained, "stuck on node node-1 since 2026-01-01T11:50:00Z, and no Event names a cause", 0},
	{"a pod that waits for a volume", func(o *Observation) {
		o.Pods[0].Cause, o.Pods[0].Scheduled = Cause{Warning: "FailedMount: no such secret"}, start.Add(-10*time.Minute)
	}, nil, Unexplained, "stuck on node node-1 since 2026-01-01T11:50:00Z, and no Event names a cause; the kubelet's last warning is FailedMount: no such secret", 0},
	{"a pod whose last Event is old", func(o *Observation) {
		o.Pods[0].Cause.Last, o.Pods[0].Scheduled = start.Add(-6*time.Minute), start.Add(-10*time.Minute)
	}, nil, Unexplained, "stuck on node node-1 since 2026-01-01T11:50:00Z, and FailedPrepareDynamicResources was last seen at 2026-01-01T11:54:00Z", 0},
	{"a pod whose Events are as old as may be", func(o *Observation) { o.Pods[0].Cause.Last = start.Add(-5 * time.Minute) }, nil, Delete, stuckThere, 0},
	{"a pod that nobody makes again, or only for the same node", func(o *Observation) { o.Pods[0].Returns = false }, nil, Ownerless, stuckThere + ", and nobody would make it again for another node", 0},

	// What cannot be seen.
	{"W1 a pod whose Events cannot be read", func(o *Observation) { o.Pods[0].Blind = "403" }, nil, Blind, "cannot see why: 403", 0},
	{"W1 a book that cannot be read", func(o *Observation) { o.BookBlind = "403" }, nil, Blind, "cannot see what was deleted: 403", 0},
	{"a pod that was scheduled a moment ago needs no book", func(o *Observation) {
		o.BookBlind, o.Pods[0].Scheduled = "403", start.Add(4*time.Minute)
	}, nil, Wait, "", 7 * time.Minute},

	// The budget of its node: 3/1h.
	{"the third pod of a node within an hour", func(o *Observation) { deleted(o, "node-1", "run b", -20, -40) }, nil, Delete, stuckThere, 0},
	{"the fourth pod of a node within an hour", func(o *Observation) { deleted(o, "node-1", "run b", -10, -20, -40) }, nil, Exclude, "the budget of node node-1 (3/1h) is used up, and pod w-1 is stuck there: FailedPrepareDynamicResources: imex", 0},
	{"the fourth pod of a node, later", func(o *Observation) { deleted(o, "node-1", "run b", -10, -20, -55) }, nil, Delete, stuckThere, 0},
	{"pods of another node", func(o *Observation) { deleted(o, "node-2", "run b", -10, -20, -40) }, nil, Delete, stuckThere, 0},
	{"a node whose budget is used up is excluded also by a gang whose own is", func(o *Observation) { deleted(o, "node-1", "run a", 1, 2, 3) }, nil, Exclude, "the budget of node node-1", 0},
	{"a pod that is booked already does not count twice", func(o *Observation) {
		deleted(o, "node-1", "run b", -10, -20)
		o.Book = o.Book.withDeletion(o.Pods[0], start)
	}, nil, Delete, stuckThere, 0},

	// An excluded node.
	{"a pod of an excluded node", func(o *Observation) { excluded(o, false) }, nil, NodeExcluded, "node node-1 is excluded since 2026-01-01T12:00:00Z", 0},
	{"an excluded node that has not got its taint", func(o *Observation) { excluded(o, false) }, tainting, Exclude, "too many", 0},
	{"a pod of a tainted node will not come back to it", func(o *Observation) { excluded(o, true) }, tainting, Delete, stuckThere, 0},
	{"a pod of a tainted node that tolerates the taint", func(o *Observation) {
		excluded(o, true)
		o.Pods[0].Tolerates = true
	}, tainting, NodeExcluded, "node node-1 is excluded since 2026-01-01T12:00:00Z", 0},
	{"a pod of a tainted node counts for its gang", func(o *Observation) {
		excluded(o, true)
		deleted(o, "node-2", "run a", 1, 2)
	}, tainting, GangSpent, "the budget of run a (2/10m) is used up until 2026-01-01T12:11:00Z", 11 * time.Minute},

	// The budget of its gang: 2/10m,6/24h.
	{"the second pod of a gang within ten minutes", func(o *Observation) { deleted(o, "node-2", "run a", 1) }, nil, Delete, stuckThere, 0},
	{"the third pod of a gang within ten minutes, on any nodes", func(o *Observation) {
		deleted(o, "node-2", "run a", 1)
		deleted(o, "node-3", "run a", 2)
	}, nil, GangSpent, "the budget of run a (2/10m) is used up until 2026-01-01T12:11:00Z", 11 * time.Minute},
	{"the seventh pod of a gang within a day: no loop goes on for ever", func(o *Observation) {
		deleted(o, "node-2", "run a", -900, -600, -500, -400, -300, -200)
	}, nil, GangSpent, "the budget of run a (6/24h) is used up until 2026-01-01T21:00:00Z", 9 * time.Hour},
	{"the seventh pod of a gang, when the first was more than a day ago", func(o *Observation) { deleted(o, "node-2", "run a", -1436, -600, -500, -400, -300, -200) }, nil, Delete, stuckThere, 0},
	{"a clock that was set back frees nothing", func(o *Observation) { deleted(o, "node-2", "run a", 60, 61) }, nil, GangSpent, "the budget of run a (2/10m) is used up until 2026-01-01T13:10:00Z", 70 * time.Minute},

	// The budget of the namespace: 20/1h.
	{"the twenty-first pod of the namespace within an hour: the trouble is not one node's", func(o *Observation) {
		for i := range 20 {
			deleted(o, fmt.Sprintf("node-%d", 10+i), fmt.Sprintf("run %d", i), -10)
		}
	}, nil, TotalSpent, "the budget of the namespace (20/1h) is used up until 2026-01-01T12:50:00Z", 50 * time.Minute},
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			policy, obs := DefaultPolicy(), oneStuckPod()
			if tc.change != nil {
				tc.change(&obs)
			}
			if tc.policy != nil {
				tc.policy(&policy)
			}
			actions := Decide(policy, obs, start.Add(now))
			if tc.want == "" {
				require.Empty(t, actions)
				return
			}
			require.Len(t, actions, 1)
			got := actions[0]
			require.Equal(t, tc.want, got.Kind, got.Reason)
			require.Contains(t, got.Reason, tc.reason)
			require.Equal(t, obs.Pods[0], got.Pod)
			if tc.again > 0 {
				require.Equal(t, start.Add(tc.again), got.At)
			} else {
				require.Zero(t, got.At)
			}
		})
	}
}

// kinds decides about n pods that are stuck at the same time, one second after the other.
func kinds(policy Policy, n int, change func(i int, pod *Pod)) []Kind {
	var obs Observation
	for i := range n {
		pod := stuckPod()
		pod.Name, pod.UID = fmt.Sprintf("w-%d", i), fmt.Sprintf("uid-%d", i)
		pod.Scheduled = start.Add(-time.Duration(i) * time.Second)
		change(i, &pod)
		obs.Pods = append(obs.Pods, pod)
	}
	var got []Kind
	for _, action := range Decide(policy, obs, start.Add(now)) {
		got = append(got, action.Kind)
	}
	return got
}

func TestPodsThatAreStuckAtOnceShareTheBudgets(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Kind{Delete, Delete, GangSpent, GangSpent}, kinds(DefaultPolicy(), 4, func(i int, pod *Pod) {
		pod.Node = fmt.Sprintf("node-%d", i)
	}), "of one gang, on many nodes")
	require.Equal(t, []Kind{Delete, Delete, Delete, Exclude, NodeExcluded}, kinds(DefaultPolicy(), 5, func(i int, pod *Pod) {
		pod.Gang = fmt.Sprintf("run %d", i)
	}), "of many gangs, on one node")
}

func TestTheOneThatIsStuckForLongestComesFirst(t *testing.T) {
	t.Parallel()
	obs := oneStuckPod()
	older := stuckPod()
	older.Name, older.UID, older.Scheduled = "w-2", "uid-2", start.Add(-time.Minute)
	obs.Pods = append(obs.Pods, older)
	actions := Decide(DefaultPolicy(), obs, start.Add(now))
	require.Equal(t, "w-2", actions[0].Pod.Name)
	require.Equal(t, "w-1", actions[1].Pod.Name)
}

func TestDecideChangesNothing(t *testing.T) {
	t.Parallel()
	obs, want := oneStuckPod(), oneStuckPod()
	deleted(&obs, "node-1", "run b", 1)
	deleted(&want, "node-1", "run b", 1)
	Decide(DefaultPolicy(), obs, start.Add(now))
	require.Equal(t, want, obs)
}
