package peerwatch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/registry"
)

// restarted once: the registry is at its incarnation, and the pods that run are new.
func once(o *Observation) {
	o.Registry.Restart = Restart{Count: 1, Incarnation: "restart-1", Former: []string{"rl-head-0", "gym-head-0"}}
	o.Registry.Incarnation, o.Registry.Since = "restart-1", start
	for i := range o.Peers {
		o.Peers[i].Former, o.Peers[i].Restarted = o.Registry.Restart.formers(), true
	}
}

func restartedTimes(n int) func(*Observation) {
	return func(o *Observation) {
		once(o)
		o.Registry.Restart.Count, o.Registry.Restart.Incarnation = n, "restart-n"
		o.Registry.Incarnation = "restart-n"
	}
}

func all(changes ...func(*Observation)) func(*Observation) {
	return func(o *Observation) {
		for _, change := range changes {
			change(o)
		}
	}
}

// restarts is the specification of the policy restart, with at most three; docs/peerwatch.md shows it.
var restarts = []decision{
	{"a run that is well", func(*Observation) {}, early, Wait, "", 0},
	{"the first failure", killed, 0, RestartRun, killedReason, 0},
	{"a reported error", func(o *Observation) { o.Registry.Error = "CUDA" }, 0, RestartRun, "CUDA", 0},
	{"a failure soon after a restart", all(once, killed), time.Second, Wait, "restart 2 of 3 waits: " + killedReason, 10 * time.Second},
	{"a failure long after a restart", all(once, killed), early, RestartRun, killedReason, 0},
	{"a failure soon after the second restart", all(restartedTimes(2), killed), time.Second, Wait, "restart 3 of 3 waits: " + killedReason, 20 * time.Second},
	{"a failure after the last restart", all(restartedTimes(3), killed), early, Fail, killedReason + " (after 3 of 3 restarts)", 0},
	{"a run that is well after a restart", once, early, Wait, "", 0},
	{"a restart that somebody else has just begun", all(once, func(o *Observation) { o.Registry.Incarnation = "" }), time.Second, Wait, "", 5 * time.Second},
	{"the error of before, while somebody else begins", all(once, func(o *Observation) { o.Registry.Incarnation, o.Registry.Error = "", "CUDA" }), time.Second, Wait, "", 5 * time.Second},
	{"a restart that was begun and not finished: the registry", all(once, func(o *Observation) { o.Registry.Incarnation = "" }), early, RestartRun, `restart 1 is not finished: the registry is at incarnation "", not "restart-1"`, 0},
	{"a restart that was begun and not finished: a pod", all(once, func(o *Observation) {
		gym(o).Workers = append(gym(o).Workers, Pod{Name: "old", UID: "gym-head-0", Owner: "gym-1"})
	}), early, RestartRun, "restart 1 is not finished: pod old of before is there", 0},
	{"a restart that cannot be finished within the startup grace", all(once, func(o *Observation) { o.Registry.Incarnation = "" }), late, Fail, `restart 1 could not be finished within 20m0s: the registry is at incarnation "", not "restart-1"`, 0},
	{"a pod of before that ends", all(once, func(o *Observation) {
		gym(o).Heads = append(gym(o).Heads, Pod{Name: "old", UID: "gym-head-0", Owner: "gym-1", Deleting: true, Failed: true})
	}), early, Wait, "", 0},
	{"a pod of before that reported an error on its way out", all(once, func(o *Observation) { o.Registry.StaleError = "CUDA" }), early, RestartRun, "restart 1 is not finished: a pod of before has reported: CUDA", 0},
	{"something cannot be seen", all(killed, func(o *Observation) { rl(o).PodsBlind = "503" }), early, Blind, fmt.Sprintf("cannot restart after %q: cannot see pods of rl: 503", killedReason), 0},
	{"a cluster is gone, which a restart does not mend", func(o *Observation) { absent(gym(o)) }, early, Fail, "RayCluster gym is gone", 0},
	{"a cluster was replaced, and another failed", all(func(o *Observation) { rl(o).Workers[0].Containers[0].Restarts = 1 }, func(o *Observation) { gym(o).UID = "gym-2" }), early, Fail, "RayCluster gym was replaced (UID gym-2, was gym-1)", 0},
	{"its own cluster is being deleted", all(killed, func(o *Observation) { rl(o).Deleting = true }), early, Wait, "RayCluster rl goes", 0},
	{"the driver has failed", all(killed, func(o *Observation) { o.Driver.Condition = Failed }), early, Fail, killedReason, 0},
	{"the driver is complete", all(killed, func(o *Observation) { o.Driver.Condition = Complete }), early, Succeed, "driver Job driver is complete", 0},
	{"the run is being removed", all(killed, func(o *Observation) { o.Registry.Removing = true }), early, Wait, "the run is being removed", 0},
}

func restartPolicy() Policy {
	policy := DefaultPolicy()
	policy.OnFailure = FailureRestart
	return policy
}

func TestDecideRestart(t *testing.T) {
	for _, tc := range restarts {
		t.Run(tc.name, func(t *testing.T) {
			obs := healthy()
			obs.Registry.Since = start
			tc.change(&obs)
			got := Decide(restartPolicy(), obs, start.Add(tc.after))
			require.Equal(t, tc.reason, got.Reason)
			require.Equal(t, tc.want, got.Kind)
			if tc.again > 0 {
				require.Equal(t, start.Add(tc.again), got.At)
			}
		})
	}
}

func TestBackoffDoublesUpToItsEnd(t *testing.T) {
	var waits []string
	for n := range 8 {
		waits = append(waits, restartPolicy().backoff(n).String())
	}
	require.Equal(t, []string{"0s", "10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"}, waits)
}

// record is the ConfigMap after a restart.
func record(t *testing.T, r Restart, incarnation string) configMap {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	return configMap{Metadata: objectMeta{Annotations: map[string]string{
		RestartAnnotation: string(text), registry.IncarnationAnnotation: incarnation,
	}}}
}

func TestFoldRestart(t *testing.T) {
	podOf := func(cluster, nodeType, uid string) pod {
		p := ofCluster(cluster, nodeType)
		p.Metadata.UID = uid
		return p
	}
	cluster := clusterOf("gpu", 1, 1)
	cluster.Status.Conditions = []condition{{Type: "RayClusterProvisioned", Status: "True"}, {Type: "HeadPodReady", Status: "True"}}
	seen := func(obs Observation, pods ...pod) Observation {
		obs.change(0, func(c Peer) Peer { return c.foldObject([]object{cluster}, nil, start).foldPods(pods, nil, start) })
		return obs
	}
	before := seen(begin(Ref{Name: "gym"}, nil, Ref{}, start), podOf("gym", "head", "old-head"), podOf("gym", "worker", "old-worker"))
	require.Equal(t, "old-head", before.Peers[0].FirstHead)
	plan := before.plan("why", 1, start)
	require.Equal(t, []string{"old-head", "old-worker"}, plan.Former)
	cm := []configMap{record(t, plan, "restart-1")}

	t.Run("the next head is a first head, whichever watch is first", func(t *testing.T) {
		next := []pod{podOf("gym", "head", "new-head"), podOf("gym", "head", "old-head")}
		restartFirst := seen(before.foldRegistry(cm, nil, start), next...)
		podsFirst := seen(before, next...).foldRegistry(cm, nil, start)
		for _, obs := range []Observation{restartFirst, podsFirst} {
			require.Equal(t, "new-head", obs.Peers[0].FirstHead)
			require.Len(t, obs.Peers[0].heads(), 1)
		}
	})
	t.Run("what the object tells of the head of before is not believed", func(t *testing.T) {
		obs := seen(before.foldRegistry(cm, nil, start), podOf("gym", "head", "new-head"))
		require.False(t, obs.Peers[0].WasReady)
		ready := podOf("gym", "head", "new-head")
		ready.Status.Conditions = []condition{{Type: "Ready", Status: "True"}}
		obs = seen(seen(obs, ready), ready)
		require.True(t, obs.Peers[0].WasReady)
	})
	t.Run("workers are judged once there is a head, and those that are older than it are of before", func(t *testing.T) {
		made := func(p pod, second int) pod {
			p.Metadata.CreationTimestamp = start.Add(time.Duration(second) * time.Second)
			return p
		}
		early, late := made(podOf("gym", "worker", "early-worker"), 1), made(podOf("gym", "worker", "late-worker"), 3)
		early.Status.Phase = "Failed"
		obs := seen(before.foldRegistry(cm, nil, start), early)
		require.Empty(t, obs.Peers[0].workers())
		require.Empty(t, obs.formerPods(), "it would be made anew before there is a head")
		obs = seen(obs, made(podOf("gym", "head", "new-head"), 2), early, late)
		require.Equal(t, "late-worker", obs.Peers[0].workers()[0].UID)
		require.Equal(t, "early-worker", obs.formerPods()[0].UID)
		require.Nil(t, judgePeer(restartPolicy(), obs.Peers[0], start))
		require.Contains(t, obs.plan("again", 2, start).Former, shortUID("early-worker"))
	})
	t.Run("a record that is seen again changes nothing", func(t *testing.T) {
		obs := seen(before.foldRegistry(cm, nil, start), podOf("gym", "head", "new-head"))
		require.Equal(t, "new-head", obs.foldRegistry(cm, nil, start.Add(time.Hour)).Peers[0].FirstHead)
		require.Equal(t, start, obs.foldRegistry(cm, nil, start.Add(time.Hour)).Registry.Since)
	})
	t.Run("an error of a pod of before is none", func(t *testing.T) {
		late := record(t, plan, "restart-1")
		late.Data = map[string]string{registry.ErrorKey: "CUDA"}
		late.Metadata.Annotations[annotationErrorBy] = "gym-worker/old-worker#print"
		require.Equal(t, "CUDA", before.foldRegistry([]configMap{late}, nil, start).Registry.StaleError)
		late.Metadata.Annotations[annotationErrorBy] = "gym-worker/new-worker@restart-1#print"
		obs := before.foldRegistry([]configMap{late}, nil, start)
		require.Equal(t, "CUDA", obs.Registry.Error)
		require.Empty(t, obs.Registry.StaleError)
	})
	t.Run("a record that somebody broke is none", func(t *testing.T) {
		broken := configMap{Metadata: objectMeta{Annotations: map[string]string{RestartAnnotation: "{"}}}
		require.Zero(t, broken.restart())
	})
}

// TestNoRestartTooMany: whatever fails and however often nothing is seen, a run is started again at most N times, never
// while the watcher is blind, never twice for one failure, and never before the back-off is over.
func TestNoRestartTooMany(t *testing.T) {
	t.Parallel()
	policy := restartPolicy()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		policy.MaxRestarts = random.IntN(5)
		obs, now, last := healthy(), start, start
		obs.Registry.Since = start
		count, ended := 0, false
		for step := 0; step < 500 && !ended; step++ {
			now = now.Add(time.Duration(random.Int64N(int64(20 * time.Second))))
			shake(&obs, random)
			switch action := Decide(policy, obs, now); action.Kind {
			case RestartRun:
				require.Empty(t, obs.blindSpots(), "seed %d: blind", seed)
				require.GreaterOrEqual(t, now.Sub(last), policy.backoff(count), "seed %d: too soon", seed)
				count, last = count+1, now
				require.LessOrEqual(t, count, policy.MaxRestarts, "seed %d", seed)
				obs = obs.afterRestart(t, action, count, now)
			case Fail:
				require.Equal(t, policy.MaxRestarts, count, "seed %d: given up early: %s", seed, action.Reason)
				ended = true
			}
		}
		require.True(t, ended, "seed %d: a run that goes on failing ends", seed)
	}
}

// shake lets things fail and go dark.
func shake(obs *Observation, random *rand.Rand) {
	dark := func(odds int) string {
		if random.IntN(odds) == 0 {
			return "503"
		}
		return ""
	}
	for i := range obs.Peers {
		obs.change(i, func(c Peer) Peer {
			c.Blind, c.PodsBlind = dark(4), dark(4)
			if random.IntN(20) == 0 {
				c.Workers = append([]Pod(nil), c.Workers...)
				c.Workers[0].Failed = true
			}
			return c
		})
	}
	obs.Registry.Blind, obs.Driver.Blind = dark(4), dark(4)
	if random.IntN(50) == 0 {
		obs.Registry.Error = "CUDA"
	}
}

// afterRestart is what is seen once everything has been started again.
func (o Observation) afterRestart(t *testing.T, action Action, count int, now time.Time) Observation {
	t.Helper()
	plan := o.plan(action.Reason, action.begins, now)
	require.Equal(t, count, plan.Count)
	o = o.foldRegistry([]configMap{record(t, plan, plan.Incarnation)}, nil, now)
	for i := range o.Peers {
		o.change(i, func(c Peer) Peer {
			fresh := healthyPeer(c.Name, c.Self)
			fresh.Heads[0].UID, fresh.Workers[0].UID = fmt.Sprintf("%d-%d-h", count, i), fmt.Sprintf("%d-%d-w", count, i)
			c.Heads, c.Workers = fresh.Heads, fresh.Workers
			return c.rememberHead()
		})
	}
	return o
}

// TestARestartThatCannotBeCountedTakesTheRunDown: without the registry there is no count, and a run that waits for one holds its GPUs.
func TestARestartThatCannotBeCountedTakesTheRunDown(t *testing.T) {
	obs := healthy()
	killed(&obs)
	obs.Registry.Present = false
	action := Decide(restartPolicy(), obs, start)
	require.Equal(t, Fail, action.Kind)
	require.Contains(t, action.Reason, "cannot be counted")
	obs.Registry.Blind = "503"
	require.Equal(t, Blind, Decide(restartPolicy(), obs, start).Kind)
}

func TestTheRecordOfARestartIsSmall(t *testing.T) {
	obs := healthy()
	require.Len(t, obs.plan(strings.Repeat("x", 1<<20), 1, start).Reason, reasonBytes)
}

// TestAHeadThatDoesNotComeBackFromARestart is a failure after the startup grace, unless it is suspended meanwhile.
func TestAHeadThatDoesNotComeBackFromARestart(t *testing.T) {
	policy := restartPolicy()
	cluster := clusterOf("gpu", 1, 1)
	head := ofCluster("gym", "head")
	head.Metadata.UID = "old"
	seen := func(c Peer, at time.Duration, pods ...pod) Peer {
		return c.foldObject([]object{cluster}, nil, start.Add(at)).foldPods(pods, nil, start.Add(at))
	}
	obs := begin(Ref{Name: "rl"}, []Ref{{Name: "gym"}}, Ref{}, start)
	obs.change(1, func(c Peer) Peer { return seen(c, 0, head) })
	cm := record(t, obs.plan("why", 1, start), "restart-1")
	obs = obs.foldRegistry([]configMap{cm}, nil, start)
	absent := seen(obs.Peers[1], time.Second)
	require.Equal(t, start.Add(policy.StartupGrace), judgePeer(policy, absent, start.Add(time.Minute)).At)
	verdict := judgePeer(policy, absent, start.Add(policy.StartupGrace))
	require.Equal(t, "RayCluster gym has had no head pod for 20m0s since it was started again", verdict.Reason)

	blind := absent.foldPods(nil, registry.ErrNotFound, start.Add(time.Minute))
	require.Nil(t, judgePeer(policy, blind, start.Add(time.Hour)), "nobody knows")
	require.Equal(t, Wait, judgePeer(policy, seen(blind, time.Hour), start.Add(time.Hour)).Kind, "it may have had one meanwhile")

	cluster.Spec.Suspend = true
	suspended := seen(absent, time.Minute)
	require.Zero(t, suspended.awaitHead(start).HeadlessSince, "a restart that begins meanwhile does not count either")
	require.Nil(t, judgePeer(policy, suspended, start.Add(time.Hour)))
	cluster.Spec.Suspend = false
	require.Equal(t, Wait, judgePeer(policy, seen(suspended, time.Hour), start.Add(time.Hour)).Kind)

	next := ofCluster("gym", "head")
	next.Metadata.UID = "new"
	require.Nil(t, judgePeer(policy, seen(absent, time.Minute, next), start.Add(time.Hour)))
}
