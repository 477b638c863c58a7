package peerwatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podCondition(kind, status, reason, message string) condition {
	return condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func waits(name, image, reason, message string) containerStatus {
	return containerStatus{Name: name, Image: image, State: state{Waiting: &waiting{reason, message}}}
}

func exited(name string, code int) containerStatus {
	return containerStatus{Name: name, State: state{Waiting: &waiting{Reason: crashLoop}}, LastState: state{Terminated: &terminated{code, "Error"}}}
}

func TestTroubleOfAPod(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*pod)
		want   Trouble
		text   string
	}{
		{"none", func(*pod) {}, "", ""},
		{"no node", func(p *pod) {
			p.Status.Conditions = []condition{podCondition("PodScheduled", "False", "Unschedulable", "0/3 nodes")}
		}, Unschedulable, "Unschedulable: 0/3 nodes"},
		{"a gate holds it back", func(p *pod) {
			p.Status.Conditions = []condition{podCondition("PodScheduled", "False", "SchedulingGated", "")}
		}, "", ""},
		{"no image", func(p *pod) {
			p.Status.Containers = []containerStatus{waits("ray-head", "ray:9", "ErrImagePull", "not found")}
		}, Stuck, `container "ray-head" with image "ray:9": ErrImagePull: not found`},
		{"no image of an init container", func(p *pod) { p.Status.Init = []containerStatus{waits("fetch", "git:9", "InvalidImageName", "")} }, Stuck, `container "fetch" with image "git:9": InvalidImageName`},
		{"no image of a sidecar, without which nothing starts", func(p *pod) {
			p.Spec.Init = []initContainer{{"registry", "Always"}}
			p.Status.Init = []containerStatus{waits("registry", "tandem:9", "ImagePullBackOff", "")}
		}, Stuck, `container "registry" with image "tandem:9": ImagePullBackOff`},
		{"no secret", func(p *pod) {
			p.Status.Containers = []containerStatus{waits("a", "b", "CreateContainerConfigError", `secret "s" not found`)}
		}, Stuck, `container "a" with image "b": CreateContainerConfigError: secret "s" not found`},
		{"a container that is being made", func(p *pod) { p.Status.Containers = []containerStatus{waits("a", "b", "ContainerCreating", "")} }, "", ""},
		{"an init container that failed", func(p *pod) { p.Status.Init = []containerStatus{exited("fetch", 1)} }, Stuck, `init container "fetch" failed (exit code 1, Error)`},
		{"an init container that ended well after it failed", func(p *pod) {
			p.Status.Init = []containerStatus{{Name: "fetch", State: state{Terminated: &terminated{0, "Completed"}}, LastState: state{Terminated: &terminated{1, "Error"}}}}
		}, "", ""},
		{"a native sidecar that failed says nothing about Ray", func(p *pod) {
			p.Spec.Init = []initContainer{{"registry", "Always"}}
			p.Status.Init = []containerStatus{exited("registry", 1)}
		}, "", ""},
		{"a silent node", func(p *pod) {
			p.Status.Conditions = []condition{podCondition("Ready", "False", "", ""), podCondition("ContainersReady", "True", "", "")}
		}, Lost, "its node does not answer"},
		{"a pod that is not ready by its kubelet's account", func(p *pod) {
			p.Status.Conditions = []condition{podCondition("Ready", "False", "ContainersNotReady", ""), podCondition("ContainersReady", "False", "", "")}
		}, "", ""},
		{"a pod that is not ready by a gate's account", func(p *pod) {
			p.Status.Conditions = []condition{podCondition("Ready", "False", "ReadinessGatesNotReady", ""), podCondition("ContainersReady", "True", "", "")}
		}, "", ""},
		{"readiness that nobody knows", func(p *pod) { p.Status.Conditions = []condition{podCondition("Ready", "Unknown", "", "")} }, Lost, "its node is lost"},
		{"a lost node", func(p *pod) { p.Status.Reason = "NodeLost" }, Lost, "its node is lost"},
		{"an eviction that was announced", func(p *pod) {
			p.Status.Conditions = []condition{podCondition("DisruptionTarget", "True", "PreemptionByScheduler", "preempted")}
		}, Lost, "PreemptionByScheduler: preempted"},
		{"an eviction that did not come", func(p *pod) {
			p.Status.Conditions = []condition{podCondition("DisruptionTarget", "False", "", "")}
		}, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p pod
			tc.change(&p)
			level := p.level()
			require.Equal(t, tc.want, level.Trouble)
			require.Equal(t, tc.text, level.TroubleText)
		})
	}
	again := exited("fetch", 1)
	again.State = state{Running: &struct{}{}}
	var p pod
	p.Status.Init = []containerStatus{again}
	require.Equal(t, Stuck, p.level().Trouble)
	require.True(t, p.level().Trying)
}

// clusterOf has one worker group.
func clusterOf(group string, minimum, hosts int) object {
	var c object
	c.Metadata.UID = "gym-1"
	c.Spec.raySpec.Groups = []workerGroup{{Name: group, Min: minimum, Hosts: hosts}}
	return c
}

func workersOf(group string, uids ...string) (pods []pod) {
	for _, uid := range uids {
		p := ofCluster("gym", "worker")
		p.Metadata.UID, p.Metadata.Labels[labelGroup] = uid, group
		pods = append(pods, p)
	}
	return pods
}

func TestFoldTrouble(t *testing.T) {
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	broken := func(reason string) []pod {
		p := ofCluster("gym", "worker")
		p.Status.Containers = []containerStatus{waits("ray-worker", "ray:9", reason, "")}
		return []pod{p}
	}
	t.Run("a trouble counts from when it was seen first", func(t *testing.T) {
		c := Peer{}.foldPods(broken("ErrImagePull"), nil, minute(1)).foldPods(broken("ImagePullBackOff"), nil, minute(3))
		require.Equal(t, minute(1), c.Workers[0].TroubleSince)
	})
	t.Run("a trouble that passed counts anew", func(t *testing.T) {
		c := Peer{}.foldPods(broken("ErrImagePull"), nil, minute(1)).foldPods(broken("PodInitializing"), nil, minute(2)).foldPods(broken("ErrImagePull"), nil, minute(3))
		require.Equal(t, minute(3), c.Workers[0].TroubleSince)
	})
	t.Run("what may have passed while nothing was seen counts anew", func(t *testing.T) {
		c := Peer{}.foldPods(broken("ErrImagePull"), nil, minute(1)).foldPods(nil, errStillThere, minute(2)).foldPods(broken("ErrImagePull"), nil, minute(3))
		require.Equal(t, minute(3), c.Workers[0].TroubleSince)
		c = Peer{}.foldObject([]object{clusterOf("gpu", 1, 1)}, nil, start).foldPods(workersOf("gpu", "a"), nil, start).foldPods(nil, nil, minute(1))
		require.Equal(t, minute(1), c.Groups[0].ShortSince)
		require.Equal(t, minute(3), c.foldPods(nil, errStillThere, minute(2)).foldPods(nil, nil, minute(3)).Groups[0].ShortSince)
	})
	t.Run("a failure of KubeRay counts from when it was seen first, and ends with the condition", func(t *testing.T) {
		broken := clusterOf("gpu", 0, 0)
		broken.Status.Conditions = []condition{{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreateHeadPod", Message: "quota"}}
		c := Peer{}.foldObject([]object{broken}, nil, minute(1)).foldObject([]object{broken}, nil, minute(2))
		require.Equal(t, minute(1), c.FailureSince)
		require.Equal(t, "FailedCreateHeadPod: quota", c.Failure)
		require.True(t, c.foldObject([]object{clusterOf("gpu", 0, 0)}, nil, minute(3)).FailureSince.IsZero())
	})
	t.Run("a group is short from when it was seen, whichever watch is first", func(t *testing.T) {
		clusters := []object{clusterOf("gpu", 1, 2)}
		c := Peer{}.foldPods(workersOf("gpu", "a", "b"), nil, minute(1)).foldObject(clusters, nil, minute(2))
		require.Equal(t, []Group{{Name: "gpu", Min: 2, Have: 2, Complete: true}}, c.Groups)
		c = c.foldPods(workersOf("gpu", "a"), nil, minute(3)).foldObject(clusters, nil, minute(4))
		require.Equal(t, []Group{{Name: "gpu", Min: 2, Have: 1, Complete: true, ShortSince: minute(3)}}, c.Groups)
		require.True(t, c.foldPods(workersOf("gpu", "a", "c"), nil, minute(5)).Groups[0].ShortSince.IsZero())
	})
	t.Run("workers of another group, or that have ended, do not count", func(t *testing.T) {
		pods := append(workersOf("gpu", "a"), workersOf("cpu", "b", "c")...)
		pods[0].Metadata.DeletionTimestamp = "now"
		c := Peer{}.foldObject([]object{clusterOf("gpu", 1, 0)}, nil, start).foldPods(pods, nil, start)
		require.Equal(t, []Group{{Name: "gpu", Min: 1}}, c.Groups)
	})
	t.Run("a group that is to grow is not complete yet", func(t *testing.T) {
		c := Peer{}.foldObject([]object{clusterOf("gpu", 1, 1)}, nil, start).foldPods(workersOf("gpu", "a"), nil, start)
		require.True(t, c.Groups[0].Complete)
		require.False(t, c.foldObject([]object{clusterOf("gpu", 2, 1)}, nil, start).Groups[0].Complete)
	})
	t.Run("a suspended group needs nobody", func(t *testing.T) {
		require.Zero(t, workerGroup{Min: 3, Suspend: true}.minimum())
	})
}

// TestTheWallClockJumps: no deadline moves with it, and no time that an object carries counts.
func TestTheWallClockJumps(t *testing.T) {
	for _, tc := range []struct {
		name string
		jump time.Duration
	}{
		{"forward", time.Hour},
		{"backward", -time.Hour},
		{"not at all", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			elapsed := time.Duration(0)
			watch := clock{began: start, elapsed: func() time.Duration { return elapsed }}
			cluster := clusterOf("gpu", 0, 0)
			ready := func(status string) []object {
				wall := start.Add(elapsed).Add(tc.jump) // KubeRay's clock
				cluster.Status.Conditions = []condition{{Type: "HeadPodReady", Status: status, LastTransitionTime: wall.String()}}
				return []object{cluster}
			}
			gym := Peer{Ref: Ref{Name: "gym"}, Since: watch.now()}.foldPods(nil, nil, watch.now()).foldObject(ready("True"), nil, watch.now())
			elapsed = time.Minute
			gym = gym.foldObject(ready("False"), nil, watch.now())
			elapsed += DefaultPolicy().UnreadyGrace - time.Second
			require.Equal(t, Wait, judgeReadiness(DefaultPolicy(), gym, watch.now()).Kind)
			elapsed += time.Second
			require.Equal(t, Fail, judgeReadiness(DefaultPolicy(), gym, watch.now()).Kind)
		})
	}
	now := newClock().now()
	require.Equal(t, now, now.Round(0), "it carries no second, hidden reading")
}

func TestARefusalWithoutAMessageIsBlindness(t *testing.T) {
	t.Parallel()
	mute := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 503}}
	require.Empty(t, mute.Error())
	require.NotEmpty(t, Peer{}.foldObject(nil, mute, start).Blind)
	require.NotEmpty(t, Peer{}.foldPods(nil, mute, start).PodsBlind)
	require.NotEmpty(t, Driver{}.fold(nil, mute).Blind)
	require.NotEmpty(t, Observation{}.foldRegistry(nil, mute, start).Registry.Blind)
}

func TestAPodIsUnstartedUntilSomethingOfItHasRun(t *testing.T) {
	t.Parallel()
	waits := containerStatus{State: state{Waiting: &waiting{Reason: "PodInitializing"}}}
	tests := []struct {
		name             string
		init, containers []containerStatus
		want             bool
	}{
		{"one that the kubelet does not have yet", nil, nil, false},
		{"one whose sandbox is made", []containerStatus{waits}, []containerStatus{waits}, true},
		{"one whose init container runs", []containerStatus{{State: state{Running: &struct{}{}}}}, []containerStatus{waits}, false},
		{"one whose container ended", nil, []containerStatus{{State: state{Terminated: &terminated{}}}}, false},
		{"one whose container restarted", nil, []containerStatus{{State: waits.State, RestartCount: 1}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p pod
			p.Status.Init, p.Status.Containers = tt.init, tt.containers
			require.Equal(t, tt.want, p.level().Unstarted)
		})
	}
}

func TestAHeadThatNeverStartedMayBeReplaced(t *testing.T) {
	t.Parallel()
	head := func(uid string, s state) pod {
		var p pod
		p.Metadata.UID, p.Metadata.Labels = uid, map[string]string{labelNodeType: "head"}
		p.Metadata.OwnerReferences = []ownerReference{{Kind: "RayCluster", UID: "gym-1"}}
		p.Status.Containers = []containerStatus{{Name: "ray", State: s}}
		return p
	}
	peer := Peer{Ref: Ref{Kind: RayCluster, Name: "gym"}, Present: true, Seen: true, UID: "gym-1", FirstUID: "gym-1"}
	waits, runs := state{Waiting: &waiting{Reason: "ContainerCreating"}}, state{Running: &struct{}{}}
	peer = peer.foldPods([]pod{head("a", waits)}, nil, start)
	require.Empty(t, peer.FirstHead)
	peer = peer.foldPods([]pod{head("b", waits)}, nil, start)
	require.Nil(t, judgeHeads(DefaultPolicy(), peer, start))
	peer = peer.foldPods([]pod{head("b", runs)}, nil, start)
	require.Equal(t, "b", peer.FirstHead)
	peer = peer.foldPods([]pod{head("c", runs)}, nil, start)
	require.NotNil(t, judgeHeads(DefaultPolicy(), peer, start))
}

// TestASuspensionThatWasTakenBackAtOnce leaves the head as it was, and it is judged as before.
func TestASuspensionThatWasTakenBackAtOnce(t *testing.T) {
	cluster := clusterOf("gpu", 1, 1)
	head := ofCluster("gym", "head")
	head.Metadata.UID = "h1"
	seen := func(c Peer, pods ...pod) Peer {
		return c.foldObject([]object{cluster}, nil, start).foldPods(pods, nil, start)
	}
	peer := seen(begin(Ref{Name: "rl"}, []Ref{{Name: "gym"}}, Ref{}, start).Peers[1], head)
	cluster.Spec.Suspend = true
	peer = seen(peer, head)
	cluster.Spec.Suspend = false
	peer = seen(peer, head)
	require.Nil(t, judgePeer(DefaultPolicy(), peer, start))
	head.Status.Containers = []containerStatus{{Name: "ray-head", RestartCount: 1}}
	verdict := judgePeer(DefaultPolicy(), seen(peer, head), start)
	require.NotNil(t, verdict)
	require.Equal(t, Fail, verdict.Kind)
}
