package peerwatch

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	early = 5 * time.Minute
	late  = 25 * time.Minute // after the startup grace of 20 minutes
)

var theDriver = Ref{Job, "driver"}

// healthy is a run that the watcher of rl sees whole: rl, gym, the driver and the registry.
func healthy() Observation {
	return Observation{
		Peers:    []Peer{healthyPeer("rl", true), healthyPeer("gym", false)},
		Driver:   Driver{Ref: theDriver, Present: true, Seen: true, UID: "driver-1"},
		Registry: Registry{Present: true},
	}
}

func healthyPeer(name string, self bool) Peer {
	uid := name + "-1"
	return Peer{
		Ref: Ref{Name: name}, Self: self, Since: start, Present: true, Seen: true, UID: uid, FirstUID: uid, WasReady: true,
		FirstHead: name + "-head-1",
		Heads: []Pod{{
			Name: name + "-head", UID: name + "-head-1", Owner: uid,
			Containers: []Container{{Name: "ray-head"}, {Name: "registry"}},
		}},
		Workers: []Pod{{
			Name: name + "-worker", UID: name + "-worker-1", Owner: uid,
			Containers: []Container{{Name: "ray-worker"}, {Name: "registry"}},
		}},
	}
}

func rl(o *Observation) *Peer  { return &o.Peers[0] }
func gym(o *Observation) *Peer { return &o.Peers[1] }

func absent(c *Peer) { c.Present, c.UID, c.Heads, c.Workers = false, "", nil, nil }

func neverSeen(c *Peer) {
	*c = Peer{Ref: c.Ref, Self: c.Self, Since: start}
}

// decision is one row of the specification: a healthy run that is changed in one way. docs/peerwatch.md shows them all.
type decision struct {
	name   string
	change func(*Observation)
	after  time.Duration
	want   Kind
	reason string
	again  time.Duration // after start; 0: only when something changes
}

var decisions = []decision{
	{"a healthy run", func(*Observation) {}, late, Wait, "", 0},

	// A peer that comes and goes.
	{"a peer that has not appeared is waited for", func(o *Observation) { neverSeen(gym(o)) }, early, Wait, "", 20 * time.Minute},
	{"a peer that does not appear within the startup grace", func(o *Observation) { neverSeen(gym(o)) }, late, Fail, "RayCluster gym has not appeared within 20m0s", 0},
	{"a peer that has gone", func(o *Observation) { absent(gym(o)) }, early, Fail, "RayCluster gym is gone", 0},
	{"a peer that is being deleted", func(o *Observation) { gym(o).Deleting = true }, early, Fail, "RayCluster gym is being deleted", 0},
	{"a peer that was deleted and made again", func(o *Observation) { gym(o).UID = "gym-2" }, early, Fail, "RayCluster gym was replaced (UID gym-2, was gym-1)", 0},

	// Its head.
	{"P1 a head container that restarted", func(o *Observation) {
		gym(o).Heads[0].Containers[0] = Container{Name: "ray-head", Restarts: 1, Exit: &Exit{137, "OOMKilled"}}
	}, early, Fail, `container "ray-head" of head pod gym-head of RayCluster gym restarted (exit code 137, OOMKilled)`, 0},
	{"a head container that ended well and restarted has lost its cluster as well", func(o *Observation) {
		gym(o).Heads[0].Containers[0] = Container{Name: "ray-head", Restarts: 1, Exit: &Exit{0, "Completed"}}
	}, early, Fail, `container "ray-head" of head pod gym-head of RayCluster gym restarted (exit code 0, Completed)`, 0},
	{"a head container that ended with a failure", func(o *Observation) {
		gym(o).Heads[0].Containers[0].Exit = &Exit{1, "Error"}
	}, early, Fail, `container "ray-head" of head pod gym-head of RayCluster gym terminated (exit code 1, Error)`, 0},
	{"a head container that ended well", func(o *Observation) {
		gym(o).Heads[0].Containers[0].Exit = &Exit{0, "Completed"}
	}, early, Wait, "", 0},
	{"a sidecar that restarted says nothing about Ray", func(o *Observation) {
		gym(o).Heads[0].Containers[1] = Container{Name: "registry", Restarts: 3, Exit: &Exit{1, "Error"}}
	}, early, Wait, "", 0},
	{"an evicted head", func(o *Observation) {
		gym(o).Heads[0].Failed, gym(o).Heads[0].Message = true, "Evicted: the node was low on memory"
	}, early, Fail, "head pod gym-head of RayCluster gym failed: Evicted: the node was low on memory", 0},
	{"a head pod that was replaced", func(o *Observation) { gym(o).Heads[0].UID = "gym-head-2" }, early, Fail, "head pod of RayCluster gym was replaced by gym-head", 0},
	{"a head pod that is being deleted", func(o *Observation) { gym(o).Heads[0].Deleting = true }, early, Fail, "head pod gym-head of RayCluster gym is being deleted", 0},
	{"a head pod that is being deleted and never started is made again", func(o *Observation) {
		gym(o).FirstHead, gym(o).Heads[0].Deleting, gym(o).Heads[0].Unstarted = "", true, true
	}, early, Wait, "", 0},
	{"a head pod that has gone", func(o *Observation) { gym(o).Heads = nil }, early, Fail, "head pod of RayCluster gym is gone", 0},
	{"a head pod that an earlier cluster of that name left behind", func(o *Observation) {
		gym(o).Heads = append(gym(o).Heads, Pod{Name: "old", UID: "old", Owner: "gym-0", Deleting: true})
	}, early, Wait, "", 0},
	{"a head that is not there yet", func(o *Observation) {
		gym(o).Heads, gym(o).FirstHead, gym(o).WasReady = nil, "", false
	}, late, Wait, "", 0},

	// Its workers.
	{"a worker container that restarted", func(o *Observation) {
		gym(o).Workers[0].Containers[0] = Container{Name: "ray-worker", Restarts: 1, Exit: &Exit{137, "OOMKilled"}}
	}, early, Fail, `container "ray-worker" of worker pod gym-worker of RayCluster gym restarted (exit code 137, OOMKilled)`, 0},
	{"a worker of its own cluster that restarted", func(o *Observation) {
		rl(o).Workers[0].Containers[0].Restarts = 1
	}, early, Fail, `container "ray-worker" of worker pod rl-worker of RayCluster rl restarted`, 0},
	{"a sidecar of a worker that restarted", func(o *Observation) { gym(o).Workers[0].Containers[1].Restarts = 1 }, early, Wait, "", 0},
	{"an evicted worker", func(o *Observation) {
		gym(o).Workers[0].Failed, gym(o).Workers[0].Message = true, "Evicted: the node was low on memory"
	}, early, Fail, "worker pod gym-worker of RayCluster gym failed: Evicted: the node was low on memory", 0},
	{"a worker that is being deleted", func(o *Observation) { gym(o).Workers[0].Deleting = true }, early, Fail, "worker pod gym-worker of RayCluster gym is being deleted", 0},
	{"a worker that is being deleted and never started is made again", func(o *Observation) {
		gym(o).Workers[0].Deleting, gym(o).Workers[0].Unstarted = true, true
	}, early, Wait, "", 0},
	{"a worker that an earlier cluster of that name left behind", func(o *Observation) {
		gym(o).Workers = append(gym(o).Workers, Pod{Name: "old", UID: "old", Owner: "gym-0", Deleting: true})
	}, early, Wait, "", 0},
	{"workers that are not there yet", func(o *Observation) { gym(o).Workers = nil }, late, Wait, "", 0},
	{"a worker of its own cluster that goes with it", func(o *Observation) {
		rl(o).Deleting, rl(o).Workers[0].Deleting = true, true
	}, early, Wait, "", 0},
	{"a head that failed explains the worker that did", func(o *Observation) {
		gym(o).Workers[0].Containers[0].Restarts = 1
		gym(o).Heads[0].Containers[0].Restarts = 1
	}, early, Fail, `container "ray-head" of head pod gym-head of RayCluster gym restarted`, 0},
	{"a worker whose cluster cannot be seen is no evidence", func(o *Observation) {
		gym(o).Blind, gym(o).Workers[0].Deleting = "503", true
	}, early, Blind, "cannot see RayCluster gym: 503", 0},

	// What may pass by itself.
	{"a pod that finds no node is waited for as long as a cluster that has not appeared", func(o *Observation) {
		gym(o).Workers[0].trouble(Unschedulable, "Unschedulable: 0/3 nodes are available", early-time.Minute)
	}, early, Wait, "", early - time.Minute + 20*time.Minute},
	{"a pod that finds no node for longer", func(o *Observation) {
		gym(o).Workers[0].trouble(Unschedulable, "Unschedulable: 0/3 nodes are available", 0)
	}, late, Fail, "worker pod gym-worker of RayCluster gym has been unschedulable for 20m0s: Unschedulable: 0/3 nodes are available", 0},
	{"an image that cannot be pulled is waited for", func(o *Observation) {
		gym(o).Heads[0].trouble(Stuck, "", early-time.Minute)
	}, early, Wait, "", early + 4*time.Minute},
	{"an image that cannot be pulled for longer", func(o *Observation) {
		gym(o).Heads[0].trouble(Stuck, `container "ray-head" with image "ray:9": ImagePullBackOff: not found`, 0)
	}, early, Fail, `head pod gym-head of RayCluster gym has been stuck for 5m0s: container "ray-head" with image "ray:9": ImagePullBackOff: not found`, 0},
	{"an init container that failed for long and is tried again just now", func(o *Observation) {
		gym(o).Heads[0].trouble(Stuck, `init container "fetch" failed (exit code 1, Error)`, 0)
		gym(o).Heads[0].Trying = true
	}, late, Wait, "", 0},
	{"a worker whose node is silent may come back", func(o *Observation) {
		gym(o).Workers[0].trouble(Lost, "its node does not answer", early-time.Minute)
	}, early, Wait, "", early + time.Minute},
	{"a worker whose node stays silent", func(o *Observation) {
		gym(o).Workers[0].trouble(Lost, "its node does not answer", early-2*time.Minute)
	}, early, Fail, "worker pod gym-worker of RayCluster gym has been lost for 2m0s: its node does not answer", 0},
	{"a worker that the taint manager evicts", func(o *Observation) {
		gym(o).Workers[0].Deleting, gym(o).Workers[0].Disruption = true, "DeletionByTaintManager: Taint manager: deleting due to NoExecute taint"
	}, early, Fail, "worker pod gym-worker of RayCluster gym is being deleted: DeletionByTaintManager: Taint manager: deleting due to NoExecute taint", 0},
	{"a head container that crash-loops", func(o *Observation) {
		gym(o).Heads[0].Containers[0] = Container{Name: "ray-head", Exit: &Exit{0, "Completed"}, CrashLoops: true}
	}, early, Fail, `container "ray-head" of head pod gym-head of RayCluster gym is in CrashLoopBackOff (exit code 0, Completed)`, 0},
	{"a worker that vanished may be replaced", func(o *Observation) {
		gym(o).Groups = []Group{{Name: "gpu", Min: 2, Have: 1, Complete: true, ShortSince: start.Add(early - time.Minute)}}
	}, early, Wait, "", early + time.Minute},
	{"a worker that vanished without a trace", func(o *Observation) {
		gym(o).Groups = []Group{{Name: "gpu", Min: 2, Have: 1, Complete: true, ShortSince: start}}
	}, early, Fail, `worker group "gpu" of RayCluster gym has had 1 of 2 workers for 2m0s`, 0},
	{"a worker group that was never complete", func(o *Observation) {
		gym(o).Groups = []Group{{Name: "gpu", Min: 2, Have: 1}}
	}, late, Wait, "", 0},
	{"a worker that an autoscaler takes away", func(o *Observation) {
		gym(o).Groups = []Group{{Name: "gpu", Min: 1, Have: 1, Complete: true, Elastic: true}}
		gym(o).Workers[0].Group, gym(o).Workers[0].Deleting = "gpu", true
	}, late, Wait, "", 0},
	{"a worker that an autoscaler asked for and finds no node", func(o *Observation) {
		gym(o).Groups = []Group{{Name: "gpu", Elastic: true}}
		gym(o).Workers[0].Group = "gpu"
		gym(o).Workers[0].trouble(Unschedulable, "0/3 nodes", 0)
	}, late, Wait, "", 0},
	{"a group with an autoscaler that is below its minimum", func(o *Observation) {
		gym(o).Groups = []Group{{Name: "gpu", Min: 2, Have: 1, Complete: true, Elastic: true, ShortSince: start}}
	}, early, Fail, `worker group "gpu" of RayCluster gym has had 1 of 2 workers for 2m0s`, 0},
	{"pods that KubeRay cannot make are waited for", func(o *Observation) {
		gym(o).Failure, gym(o).FailureSince = "FailedCreateWorkerPod: exceeded quota", start
	}, time.Minute, Wait, "", 5 * time.Minute},
	{"pods that KubeRay cannot make for longer", func(o *Observation) {
		gym(o).Failure, gym(o).FailureSince = "FailedCreateWorkerPod: exceeded quota", start
	}, early, Fail, "RayCluster gym has been unable to make or delete pods for 5m0s: FailedCreateWorkerPod: exceeded quota", 0},
	{"a failure is not hidden by something that is waited for", func(o *Observation) {
		rl(o).Workers[0].trouble(Unschedulable, "", 0)
		gym(o).Workers[0].Containers[0].Restarts = 1
	}, early, Fail, `container "ray-worker" of worker pod gym-worker of RayCluster gym restarted`, 0},

	// Its readiness.
	{"a head that has never been ready is not unready", func(o *Observation) {
		gym(o).WasReady = false
	}, late, Wait, "", 0},
	{"a head that was ready may be unready for a while", func(o *Observation) {
		gym(o).UnreadySince = start.Add(early - time.Minute)
	}, early, Wait, "", early + time.Minute},
	{"a head that stays unready", func(o *Observation) {
		gym(o).UnreadySince, gym(o).UnreadyReason = start.Add(early-2*time.Minute), "ContainersNotReady: ray-head"
	}, early, Fail, "head of RayCluster gym has been unready for 2m0s: ContainersNotReady: ray-head", 0},
	{"of two graces the one that ends first is waited for", func(o *Observation) {
		rl(o).UnreadySince, gym(o).UnreadySince = start.Add(early-time.Second), start.Add(early-time.Minute)
	}, early, Wait, "", early + time.Minute},

	// Its own cluster.
	{"its own head container that restarted", func(o *Observation) {
		rl(o).Heads[0].Containers[0].Restarts = 1
	}, early, Fail, `container "ray-head" of head pod rl-head of RayCluster rl restarted`, 0},
	{"its own head pod that was replaced", func(o *Observation) {
		rl(o).Heads = append(rl(o).Heads, Pod{Name: "rl-head-b", UID: "rl-head-2", Owner: "rl-1"})
	}, early, Fail, "head pod of RayCluster rl was replaced by rl-head-b", 0},
	{"its own head pod that is being deleted is for the peers to judge", func(o *Observation) {
		rl(o).Heads[0].Deleting = true
		rl(o).Heads[0].Containers[0].Exit = &Exit{143, "Error"}
	}, early, Wait, "", 0},
	{"its own cluster that is being deleted is for the peers to judge", func(o *Observation) {
		rl(o).Deleting = true
		rl(o).Heads[0].Containers[0].Exit = &Exit{143, "Error"}
		rl(o).UnreadySince = start
	}, late, Wait, "", 0},
	{"its own cluster that has gone", func(o *Observation) { absent(rl(o)) }, early, Wait, "", 0},

	// The driver.
	{"a driver that completed", func(o *Observation) { o.Driver.Condition = Complete }, early, Succeed, "driver Job driver is complete", 0},
	{"a driver that failed", func(o *Observation) {
		o.Driver.Condition, o.Driver.Message = Failed, "BackoffLimitExceeded: Job has reached the specified backoff limit"
	}, early, Fail, "driver Job driver failed: BackoffLimitExceeded: Job has reached the specified backoff limit", 0},
	{"a driver that was deleted", func(o *Observation) { o.Driver.Present = false }, early, Fail, "driver Job driver was deleted before it finished", 0},
	{"a driver that is not there yet", func(o *Observation) { o.Driver = Driver{Ref: theDriver} }, late, Wait, "", 0},
	{"a run without a driver", func(o *Observation) { o.Driver = Driver{} }, late, Wait, "", 0},

	// What comes first.
	{"a peer that goes after the driver completed is a success", func(o *Observation) {
		o.Driver.Condition = Complete
		absent(gym(o))
	}, early, Succeed, "driver Job driver is complete", 0},
	{"a driver that completed and was cleaned up is a success still", func(o *Observation) {
		o.Driver.Condition, o.Driver.Present = Complete, false
	}, early, Succeed, "driver Job driver is complete", 0},
	{"a reported error", func(o *Observation) { o.Registry.Error = "CUDA out of memory" }, early, Fail, "CUDA out of memory", 0},
	{"a reported error stays the reason when peers go", func(o *Observation) {
		o.Registry.Error = "CUDA out of memory"
		absent(gym(o))
	}, early, Fail, "CUDA out of memory", 0},
	{"a head that failed explains the driver that failed", func(o *Observation) {
		o.Driver.Condition = Failed
		gym(o).Heads[0].Containers[0] = Container{Name: "ray-head", Restarts: 1, Exit: &Exit{137, "Error"}}
	}, early, Fail, `container "ray-head" of head pod gym-head of RayCluster gym restarted (exit code 137, Error)`, 0},

	// A suspension.
	{"P5 a suspended peer is waited for", func(o *Observation) {
		gym(o).Suspended = true
		gym(o).Heads, gym(o).Workers, gym(o).FirstHead = nil, nil, ""
	}, late, Wait, "RayCluster gym is suspended", 0},
	{"P5 the pods of a suspended peer go, and are no evidence", func(o *Observation) {
		gym(o).Suspended, gym(o).Heads[0].Deleting, gym(o).Workers[0].Deleting = true, true, true
		gym(o).UnreadySince = start
	}, late, Wait, "RayCluster gym is suspended", 0},
	{"a suspended peer that is deleted is gone", func(o *Observation) {
		gym(o).Suspended = true
		absent(gym(o))
	}, early, Fail, "RayCluster gym is gone", 0},
	{"a peer beside a suspended one is judged", func(o *Observation) {
		rl(o).Suspended, gym(o).Heads[0].Containers[0].Restarts = true, 1
	}, early, Fail, `container "ray-head" of head pod gym-head of RayCluster gym restarted`, 0},

	// A removal.
	{"a run that is removed is left to whoever removes it", func(o *Observation) { o.Registry.Removing = true }, early, Wait, "the run is being removed", 0},
	{"a peer that goes because the run is removed", func(o *Observation) {
		o.Registry.Removing = true
		absent(gym(o))
	}, late, Wait, "the run is being removed", 0},
	{"a driver that goes because the run is removed", func(o *Observation) {
		o.Registry.Removing, o.Driver.Present = true, false
	}, late, Wait, "the run is being removed", 0},

	// An API server that does not tell.
	{"P2 a peer that cannot be seen is no evidence", func(o *Observation) {
		gym(o).Blind, gym(o).PodsBlind = "503", "503"
	}, late, Blind, "cannot see RayCluster gym: 503; pods of gym: 503", 0},
	{"P2 a peer that was never seen because nothing can be", func(o *Observation) {
		neverSeen(gym(o))
		gym(o).Blind = "403"
	}, late, Blind, "cannot see RayCluster gym: 403", 0},
	{"unreadiness before the blindness is no evidence", func(o *Observation) {
		gym(o).UnreadySince = start
		gym(o).Blind = "timeout"
	}, late, Blind, "cannot see RayCluster gym: timeout", 0},
	{"a driver that cannot be seen", func(o *Observation) { o.Driver.Blind = "401" }, late, Blind, "cannot see driver Job driver: 401", 0},
	{"a registry that cannot be seen", func(o *Observation) { o.Registry.Blind = "429" }, late, Blind, "cannot see the registry: 429", 0},
	{"what can be seen counts", func(o *Observation) {
		rl(o).Blind = "503"
		absent(gym(o))
	}, early, Fail, "RayCluster gym is gone", 0},
}

// trouble began some time after the start.
func (p *Pod) trouble(kind Trouble, text string, after time.Duration) {
	p.Trouble, p.TroubleText, p.TroubleSince = kind, text, start.Add(after)
}

func TestDecide(t *testing.T) {
	for _, tc := range decisions {
		t.Run(tc.name, func(t *testing.T) {
			obs := healthy()
			tc.change(&obs)
			want := Action{Kind: tc.want, Reason: tc.reason}
			if tc.again > 0 {
				want.At = start.Add(tc.again)
			}
			require.Equal(t, want, Decide(DefaultPolicy(), obs, start.Add(tc.after)))
		})
	}
}

// decisionsByPolicy are what the policy changes.
var decisionsByPolicy = []struct {
	name   string
	policy OnFailure
	change func(*Observation)
	want   Action
}{
	{"signal reports a failure", FailureSignal, killed, Action{Kind: Signal, Reason: killedReason}},
	{"signal reports once", FailureSignal, func(o *Observation) { killed(o); o.Registry.Error = killedReason }, Action{Kind: Wait, Reason: "signalled: " + killedReason}},
	{"signal leaves an error that somebody else reported", FailureSignal, func(o *Observation) { o.Registry.Error = "CUDA" }, Action{Kind: Wait, Reason: "signalled: CUDA"}},
	{"signal waits for nothing while it is blind", FailureSignal, func(o *Observation) { gym(o).Blind, gym(o).PodsBlind = "503", "503" }, Action{Kind: Blind, Reason: "cannot see RayCluster gym: 503; pods of gym: 503"}},
	{"ignore ignores a failure", FailureIgnore, killed, Action{Kind: Wait, Reason: "ignored: " + killedReason}},
	{"ignore ignores an error", FailureIgnore, func(o *Observation) { o.Registry.Error = "CUDA" }, Action{Kind: Wait, Reason: "ignored: CUDA"}},
	{"ignore that is blind says so", FailureIgnore, func(o *Observation) { killed(o); o.Driver.Blind = "503" }, Action{Kind: Blind, Reason: "cannot see driver Job driver: 503"}},
	{"a driver that completed ends a run under signal", FailureSignal, func(o *Observation) { o.Driver.Condition = Complete }, Action{Kind: Succeed, Reason: "driver Job driver is complete"}},
	{"a driver that completed ends a run under ignore", FailureIgnore, func(o *Observation) { killed(o); o.Driver.Condition = Complete }, Action{Kind: Succeed, Reason: "driver Job driver is complete"}},
	{"a driver that failed ends a run under ignore", FailureIgnore, func(o *Observation) { o.Driver.Condition, o.Driver.Message = Failed, "exit 1" }, Action{Kind: Fail, Reason: "driver Job driver failed: exit 1"}},
	{"a failure explains the driver that failed under signal", FailureSignal, func(o *Observation) { killed(o); o.Driver.Condition = Failed }, Action{Kind: Fail, Reason: killedReason}},
	{"a dry run decides as cascade does", FailureDryRun, killed, Action{Kind: Fail, Reason: killedReason}},
}

const killedReason = `container "ray-head" of head pod gym-head of RayCluster gym restarted`

func killed(o *Observation) { gym(o).Heads[0].Containers[0].Restarts = 1 }

func TestDecideByPolicy(t *testing.T) {
	for _, tc := range decisionsByPolicy {
		t.Run(tc.name, func(t *testing.T) {
			policy, obs := DefaultPolicy(), healthy()
			policy.OnFailure = tc.policy
			tc.change(&obs)
			require.Equal(t, tc.want, Decide(policy, obs, start.Add(early)))
		})
	}
	t.Run("P5 a suspended peer is a failure where the policy says so", func(t *testing.T) {
		policy, obs := DefaultPolicy(), healthy()
		policy.OnSuspend = SuspendFail
		gym(&obs).Suspended = true
		require.Equal(t, Action{Kind: Fail, Reason: "RayCluster gym is suspended"}, Decide(policy, obs, start.Add(early)))
		obs = healthy()
		rl(&obs).Suspended = true
		require.Equal(t, Wait, Decide(policy, obs, start.Add(early)).Kind, "its own is for the peers to judge")
	})
}

// TestFold checks what is remembered from one level to the next.
func TestFold(t *testing.T) {
	seen := func(uid string, conditions ...condition) []object {
		var c object
		c.Metadata.UID, c.Status.Conditions = uid, conditions
		return []object{c}
	}
	ready := condition{Type: "HeadPodReady", Status: "True"}
	unready := condition{Type: "HeadPodReady", Status: "False", Reason: "ContainersNotReady", Message: "ray-head"}
	head := func(uid, owner string) pod {
		p := pod{Metadata: objectMeta{Name: "head", UID: uid, Labels: map[string]string{labelNodeType: "head"}}}
		p.Metadata.OwnerReferences = append(p.Metadata.OwnerReferences, ownerReference{"RayCluster", owner})
		return p
	}
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

	t.Run("nothing is known before the first answer", func(t *testing.T) {
		obs := begin(Ref{Name: "rl"}, []Ref{{Name: "gym"}}, theDriver, start)
		require.Equal(t, Blind, Decide(DefaultPolicy(), obs, minute(60)).Kind)
	})
	t.Run("the first UID stays", func(t *testing.T) {
		c := Peer{}.foldObject(seen("a"), nil, start).foldObject(nil, nil, start).foldObject(seen("b"), nil, start)
		require.Equal(t, "a", c.FirstUID)
		require.Equal(t, "b", c.UID)
	})
	t.Run("unready counts from the first time, and ready ends it", func(t *testing.T) {
		c := Peer{}.foldObject(seen("a", unready), nil, minute(0))
		require.True(t, c.UnreadySince.IsZero(), "never ready yet")
		c = c.foldObject(seen("a", ready), nil, minute(1)).foldObject(seen("a", unready), nil, minute(2)).foldObject(seen("a", unready), nil, minute(3))
		require.Equal(t, minute(2), c.UnreadySince)
		require.Equal(t, "ContainersNotReady: ray-head", c.UnreadyReason)
		require.True(t, c.foldObject(seen("a", ready), nil, minute(4)).UnreadySince.IsZero())
	})
	t.Run("readiness that was not seen ends a spell as well", func(t *testing.T) {
		again := unready
		again.LastTransitionTime = "later"
		c := Peer{}.foldObject(seen("a", ready), nil, minute(0)).foldObject(seen("a", unready), nil, minute(1)).foldObject(seen("a", again), nil, minute(5))
		require.Equal(t, minute(5), c.UnreadySince)
	})
	t.Run("a watcher that starts late knows from RayClusterProvisioned that the head was ready", func(t *testing.T) {
		c := Peer{}.foldObject(seen("a", condition{Type: "RayClusterProvisioned", Status: "True"}, unready), nil, minute(1))
		require.Equal(t, minute(1), c.UnreadySince)
	})
	t.Run("the first head is found whichever watch is first, and not among an earlier cluster's", func(t *testing.T) {
		pods := []pod{head("old", "a0"), head("new", "a")}
		require.Equal(t, "new", Peer{}.foldPods(pods, nil, start).foldObject(seen("a"), nil, start).FirstHead)
		require.Equal(t, "new", Peer{}.foldObject(seen("a"), nil, start).foldPods(pods, nil, start).FirstHead)
	})
	t.Run("heads and workers are told apart", func(t *testing.T) {
		c := Peer{}.foldPods([]pod{ofCluster("gym", "worker"), ofCluster("gym", "head")}, nil, start)
		require.Equal(t, "gym-head", c.Heads[0].Name)
		require.Equal(t, "gym-worker", c.Workers[0].Name)
	})
	t.Run("P5 a suspension is told from the wish on, until KubeRay says that it is over", func(t *testing.T) {
		wish := seen("a")
		wish[0].Spec.Suspend = true
		require.True(t, Peer{}.foldObject(wish, nil, start).Suspended)
		for _, kind := range []string{"RayClusterSuspending", "RayClusterSuspended"} {
			c := Peer{}.foldObject(seen("a", condition{Type: kind, Status: "True"}), nil, start)
			require.True(t, c.Suspended)
			require.False(t, c.foldObject(seen("a", condition{Type: kind, Status: "False"}), nil, start).Suspended)
		}
	})
	t.Run("P5 what comes after a suspension is a new head, whichever watch is first", func(t *testing.T) {
		suspended := seen("a", ready)
		suspended[0].Spec.Suspend = true
		old, next := []pod{head("one", "a")}, []pod{head("two", "a")}
		before := Peer{}.foldObject(seen("a", ready), nil, start).foldPods(old, nil, start).foldObject(suspended, nil, start)
		require.False(t, before.WasReady)
		podsFirst := before.foldPods(next, nil, start).foldObject(suspended, nil, start).foldObject(seen("a", unready), nil, start)
		require.Equal(t, "two", podsFirst.FirstHead)
		clusterFirst := before.foldObject(seen("a", unready), nil, start)
		require.Empty(t, clusterFirst.FirstHead, "the old pod is still seen")
		require.Nil(t, judgeHeads(DefaultPolicy(), clusterFirst, start))
		require.Equal(t, "two", clusterFirst.foldPods(next, nil, start).FirstHead)
	})
	t.Run("an error keeps what was known", func(t *testing.T) {
		c := Peer{}.foldObject(seen("a", ready), nil, start).foldObject(nil, errStillThere, start)
		require.True(t, c.Present)
		require.Equal(t, errStillThere.Error(), c.Blind)
	})
	t.Run("a removal is seen on the ConfigMap, and stays known when that is gone", func(t *testing.T) {
		marked := configMap{Metadata: objectMeta{Annotations: map[string]string{v1alpha1.AnnotationRemoving: "2026-01-01T00:00:00Z"}}}
		r := Registry{}.fold([]configMap{{}}, nil)
		require.True(t, r.Present)
		require.False(t, r.Removing)
		r = r.fold([]configMap{marked}, nil)
		require.True(t, r.Removing)
		require.True(t, r.fold(nil, nil).Removing)
	})
	t.Run("an Observation is a value", func(t *testing.T) {
		before := begin(Ref{Name: "rl"}, []Ref{{Name: "gym"}}, theDriver, start)
		clusters := slices.Clone(before.Peers)
		after := before
		after.change(1, func(c Peer) Peer { return c.foldObject(seen("a"), nil, start) })
		require.Equal(t, clusters, before.Peers)
		require.NotEqual(t, before.Peers, after.Peers)
	})
}
