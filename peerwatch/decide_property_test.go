package peerwatch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// world is the truth of a run in which nothing fails: heads blink and replicas lack for less than the grace, peers come late
// but within theirs, a RayJob tries again, the pods of a Deployment restart, sidecars restart, and the API server answers
// or not.
type world struct {
	random *rand.Rand
	now    time.Time
	obs    Observation
	born   []time.Time // when each cluster appears
	dark   []time.Time // until when each head is unready, for the last time
	since  []time.Time // when that began
	tries  int         // of the RayJob
}

func newWorld(seed uint64, policy Policy, peers ...Ref) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 0)), now: start}
	w.obs = begin(Ref{Name: "rl"}, peers, theDriver, start)
	for range w.obs.Peers {
		w.born = append(w.born, start.Add(w.upTo(policy.StartupGrace-time.Second)))
		w.dark, w.since = append(w.dark, start), append(w.since, start)
	}
	return w
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

// step lets time pass, changes the truth, and shows a random part of it.
func (w *world) step(policy Policy) {
	w.now = w.now.Add(w.upTo(20 * time.Second))
	for i := range w.obs.Peers {
		if w.random.IntN(20) == 0 && w.now.After(w.dark[i].Add(20*time.Second)) { // that it is well in between can be seen once
			w.since[i] = w.now
			w.dark[i] = w.now.Add(w.upTo(policy.UnreadyGrace - 21*time.Second)) // 20 s may pass until it is seen
		}
		w.obs.change(i, func(c Peer) Peer { return w.show(c, i) })
	}
	w.obs.Driver = w.obs.Driver.fold([]object{{Metadata: objectMeta{UID: "driver-1"}}}, w.trouble())
	w.obs.Registry = w.obs.Registry.fold([]configMap{{}}, w.trouble())
}

func (w *world) show(c Peer, i int) Peer {
	if w.now.Before(w.born[i]) {
		return c.foldObject(nil, w.trouble(), w.now).foldPods(nil, w.trouble(), w.now)
	}
	switch c.Kind {
	case RayJob:
		return w.showRayJob(c, i)
	case Deployment:
		return w.showDeployment(c, i)
	}
	var cluster object
	cluster.Metadata.UID = c.Name + "-1"
	cluster.Status.Conditions = []condition{{Type: "HeadPodReady", Status: "True"}}
	if w.now.Before(w.dark[i]) {
		cluster.Status.Conditions[0].Status = "False"
		cluster.Status.Conditions[0].LastTransitionTime = w.since[i].String()
	}
	return c.foldObject([]object{cluster}, w.trouble(), w.now).foldPods([]pod{w.head(c.Name), w.worker(c.Name)}, w.trouble(), w.now)
}

// showRayJob tries again now and then. Object and pods are seen together or not at all: that pods are gone because of a
// retry is found out when the watcher looks again.
func (w *world) showRayJob(c Peer, i int) Peer {
	if w.random.IntN(100) == 0 {
		w.tries++
	}
	var job object
	job.Metadata.UID = c.Name + "-1"
	job.Status.RayClusterName, job.Status.JobDeploymentStatus = fmt.Sprintf("eval-%d", w.tries), "Running"
	ready := condition{Type: "HeadPodReady", Status: "True"}
	if w.now.Before(w.dark[i]) {
		ready.Status, ready.LastTransitionTime = "False", w.since[i].String()
	}
	job.Status.RayClusterStatus.Conditions = []condition{ready}
	head, worker := w.head(job.Status.RayClusterName), w.worker(job.Status.RayClusterName)
	trouble := w.trouble()
	return c.foldObject([]object{job}, trouble, w.now).foldPods([]pod{head, worker}, trouble, w.now)
}

func (w *world) showDeployment(c Peer, i int) Peer {
	var d object
	d.Metadata.UID, d.Spec.Replicas, d.Status.AvailableReplicas = c.Name+"-1", new(2), 2
	if w.now.Before(w.dark[i]) {
		d.Status.AvailableReplicas = 1
	}
	server := pod{Metadata: objectMeta{Name: "envs-x", UID: "envs-x"}}
	server.Status.Containers = []containerStatus{{Name: "env", RestartCount: w.random.IntN(3)}}
	if w.random.IntN(10) == 0 {
		server.Metadata.DeletionTimestamp = "now"
	}
	return c.foldObject([]object{d}, w.trouble(), w.now).foldPods([]pod{server}, w.trouble(), w.now)
}

func (w *world) head(cluster string) pod {
	head := ofCluster(cluster, "head")
	head.Status.Containers = []containerStatus{{Name: "ray-head"}, {Name: "registry", RestartCount: w.random.IntN(3)}}
	return head
}

func (w *world) worker(cluster string) pod {
	worker := ofCluster(cluster, "worker")
	worker.Status.Containers = []containerStatus{{Name: "ray-worker"}, {Name: "registry", RestartCount: w.random.IntN(3)}}
	switch w.random.IntN(10) { // it passes before long: ten in a row are not to be expected
	case 0:
		worker.Status.Conditions = []condition{podCondition("Ready", "False", "", ""), podCondition("ContainersReady", "True", "", "")}
	case 1:
		worker.Status.Init = []containerStatus{exited("fetch", 1)}
	case 2:
		worker.Status.Conditions = []condition{podCondition("PodScheduled", "False", "Unschedulable", "")}
	}
	return worker
}

func ofCluster(cluster, nodeType string) pod {
	name := cluster + "-" + nodeType
	return pod{Metadata: objectMeta{
		Name: name, UID: name + "-1", Labels: map[string]string{labelCluster: cluster, labelNodeType: nodeType},
		OwnerReferences: []ownerReference{{Kind: "RayCluster", UID: cluster + "-1"}},
	}}
}

// trouble is an answer of the API server that says nothing.
func (w *world) trouble() error {
	if w.random.IntN(4) > 0 {
		return nil
	}
	return errors.New([]string{"401", "403", "429", "500", "503", "connection refused"}[w.random.IntN(6)])
}

// TestNoFalseAlarm: in a thousand hours of a run in which nothing fails, nothing is decided.
func TestNoFalseAlarm(t *testing.T) {
	t.Parallel()
	noFalseAlarm(t, 1000, Ref{Name: "gym"}, Ref{Name: "gen"})
}

// TestNoFalseAlarmOfOtherKinds is as long as the time of a test allows.
func TestNoFalseAlarmOfOtherKinds(t *testing.T) {
	t.Parallel()
	noFalseAlarm(t, 100, Ref{RayJob, "eval"}, Ref{Deployment, "envs"})
}

func noFalseAlarm(t *testing.T, atLeast float64, peers ...Ref) {
	t.Helper()
	policy := DefaultPolicy()
	var hours float64
	for seed := uint64(1); hours < atLeast; seed++ {
		w := newWorld(seed, policy, peers...)
		for range 5000 {
			w.step(policy)
			action := Decide(policy, w.obs, w.now)
			require.Less(t, action.Kind, Succeed, "seed %d, after %s: %s", seed, w.now.Sub(start), action.Reason)
		}
		hours += w.now.Sub(start).Hours()
	}
}

// TestNoMissedDeath: whatever was seen before, a killed head is decided on as soon as it is seen.
func TestNoMissedDeath(t *testing.T) {
	t.Parallel()
	policy := DefaultPolicy()
	for seed := range uint64(200) {
		w := newWorld(seed, policy, Ref{Name: "gym"})
		for w.now.Sub(start) < policy.StartupGrace {
			w.step(policy)
		}
		var cluster object
		cluster.Metadata.UID = "gym-1"
		killed := w.head("gym")
		killed.Status.Containers[0].RestartCount = 1
		w.obs.change(1, func(c Peer) Peer {
			return c.foldObject([]object{cluster}, nil, w.now).foldPods([]pod{killed}, nil, start)
		})
		require.Equal(t, Fail, Decide(policy, w.obs, w.now).Kind, "seed %d", seed)
	}
}
