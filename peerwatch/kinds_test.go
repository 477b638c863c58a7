package peerwatch

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// kindDecision is one row of the specification for the other kinds of peers: the levels of one peer, each the status (and
// where it begins with spec the spec) of its object as JSON, and what is decided some time after the last one.
type kindDecision struct {
	name   string
	kind   PeerKind
	levels []string
	pods   []Pod
	after  time.Duration
	want   Kind
	reason string
}

const (
	rayJobRuns = `{"status":{"jobDeploymentStatus":"Running","jobStatus":"RUNNING","rayClusterName":"x-1","rayClusterStatus":{"conditions":[{"type":"HeadPodReady","status":"True"}]}}}`
	twoOfTwo   = `{"spec":{"replicas":2},"status":{"availableReplicas":2}}`
	oneOfTwo   = `{"spec":{"replicas":2},"status":{"availableReplicas":1}}`
)

func restarted(role string) []Pod {
	return []Pod{{Name: "x-pod", UID: "x-pod-1", Containers: []Container{{Name: role, Restarts: 1}}}}
}

func withTrouble(kind Trouble, text string) []Pod {
	p := Pod{Name: "x-pod", UID: "x-pod-1"}
	p.trouble(kind, text, 0)
	return []Pod{p}
}

var decisionsByKind = []kindDecision{
	{"a RayJob that runs", RayJob, []string{rayJobRuns}, nil, late, Wait, ""},
	{"a RayJob whose Ray job succeeded and is no driver", RayJob, []string{rayJobRuns, `{"status":{"jobDeploymentStatus":"Complete","jobStatus":"SUCCEEDED"}}`}, nil, late, Wait, ""},
	{"a RayJob that KubeRay calls complete although its Ray job was stopped", RayJob, []string{`{"status":{"jobDeploymentStatus":"Complete","jobStatus":"STOPPED"}}`}, nil, early, Fail, `RayJob x failed: its Ray job is "STOPPED"`},
	{"a RayJob that failed", RayJob, []string{`{"status":{"jobDeploymentStatus":"Failed","reason":"AppFailed","message":"exit 1"}}`}, nil, early, Fail, "RayJob x failed: Failed: AppFailed: exit 1"},
	{"a RayJob that KubeRay does not accept", RayJob, []string{`{"status":{"jobDeploymentStatus":"ValidationFailed","reason":"ValidationFailed","message":"no entrypoint"}}`}, nil, early, Fail, "RayJob x failed: ValidationFailed: ValidationFailed: no entrypoint"},
	{"a RayJob that is suspended", RayJob, []string{rayJobRuns, `{"status":{"jobDeploymentStatus":"Suspending","rayClusterName":"x-1"}}`}, nil, late, Wait, "RayJob x is suspended"},
	{"a RayJob that tries again is not ready yet", RayJob, []string{rayJobRuns, `{"status":{"jobDeploymentStatus":"Retrying","rayClusterName":"x-1"}}`, `{"status":{"jobDeploymentStatus":"Initializing","rayClusterName":"x-2"}}`}, nil, late, Wait, ""},
	{"a RayJob whose head was ready and is not", RayJob, []string{rayJobRuns, `{"status":{"jobDeploymentStatus":"Running","rayClusterName":"x-1","rayClusterStatus":{"conditions":[{"type":"HeadPodReady","status":"False","reason":"ContainersNotReady"}]}}}`}, nil, early, Fail, "head of RayJob x has been unready for 2m0s: ContainersNotReady"},
	{"a worker of a RayJob that restarted", RayJob, []string{rayJobRuns}, restarted("ray-worker"), early, Fail, `container "ray-worker" of worker pod x-pod of RayJob x restarted`},

	{"a JobSet that completed and is no driver", JobSet, []string{`{"status":{"conditions":[{"type":"Completed","status":"True"}]}}`}, nil, late, Wait, ""},
	{"a JobSet that failed", JobSet, []string{`{"status":{"conditions":[{"type":"Failed","status":"True","reason":"FailedJobs","message":"jobset failed due to one or more job failures"}]}}`}, nil, early, Fail, "JobSet x failed: FailedJobs: jobset failed due to one or more job failures"},
	{"a JobSet that is suspended", JobSet, []string{`{"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`}, nil, late, Wait, "JobSet x is suspended"},
	{"what ends the pods of a JobSet is for its own policy", JobSet, []string{`{}`}, restarted("trainer"), late, Wait, ""},
	{"a pod of a JobSet that cannot start", JobSet, []string{`{}`}, withTrouble(Stuck, `container "a" with image "b": ErrImagePull`), early, Fail, `pod x-pod of JobSet x has been stuck for 5m0s: container "a" with image "b": ErrImagePull`},

	{"a Job that completed and is no driver", Job, []string{`{"status":{"conditions":[{"type":"Complete","status":"True"}]}}`}, nil, late, Wait, ""},
	{"a Job that failed", Job, []string{`{"status":{"conditions":[{"type":"Failed","status":"True","reason":"DeadlineExceeded"}]}}`}, nil, early, Fail, "Job x failed: DeadlineExceeded"},
	{"a Job that is suspended", Job, []string{`{"spec":{"suspend":true}}`}, nil, late, Wait, "Job x is suspended"},
	{"a Job that completed and was cleaned up", Job, []string{`{"status":{"conditions":[{"type":"Complete","status":"True"}]}}`, ""}, nil, late, Wait, ""},
	{"a Job that was deleted", Job, []string{`{}`, ""}, nil, early, Fail, "Job x is gone"},

	{"a StatefulSet that is available", StatefulSet, []string{twoOfTwo}, nil, late, Wait, ""},
	{"a StatefulSet that is not available yet", StatefulSet, []string{oneOfTwo}, nil, late, Wait, ""},
	{"a StatefulSet that lacks a replica", StatefulSet, []string{twoOfTwo, oneOfTwo}, nil, early, Fail, "StatefulSet x has had 1 of 2 available replicas for 2m0s"},
	{"a StatefulSet that is to grow", StatefulSet, []string{twoOfTwo, `{"spec":{"replicas":3},"status":{"availableReplicas":2}}`}, nil, late, Wait, ""},
	{"a Deployment that lacks a replica", Deployment, []string{twoOfTwo, oneOfTwo}, nil, early, Fail, "Deployment x has had 1 of 2 available replicas for 2m0s"},
	{"a pod of a Deployment that restarted is healed", Deployment, []string{twoOfTwo}, restarted("server"), late, Wait, ""},
	{"a pod of a Deployment that finds no node", Deployment, []string{oneOfTwo}, withTrouble(Unschedulable, "0/3 nodes"), late, Fail, "pod x-pod of Deployment x has been unschedulable for 20m0s: 0/3 nodes"},

	{"a pod of a set that restarted", Pods, nil, restarted("server"), early, Fail, `container "server" of pod x-pod of pod set app=x restarted`},
	{"a set of pods that has not appeared", Pods, nil, nil, late, Fail, "pod set app=x has not appeared within 20m0s"},
}

func (d kindDecision) peer(t *testing.T) Peer {
	t.Helper()
	ref := Ref{d.kind, "x"}
	if d.kind == Pods {
		ref.Name = "app=x"
	}
	peer := begin(Ref{Name: "rl"}, []Ref{ref}, Ref{}, start).Peers[1]
	for _, level := range d.levels {
		var objects []object
		if level != "" {
			objects = make([]object, 1)
			objects[0].Metadata.UID = "x-uid"
			require.NoError(t, json.Unmarshal([]byte(level), &objects[0]))
		}
		peer = peer.foldObject(objects, nil, start)
	}
	peer.PodsBlind, peer.Workers = "", d.pods
	if d.kind == Pods {
		return peer.foldSet(start)
	}
	return peer
}

func TestDecideByKind(t *testing.T) {
	for _, tc := range decisionsByKind {
		t.Run(tc.name, func(t *testing.T) {
			obs := healthy()
			*gym(&obs) = tc.peer(t)
			got := Decide(DefaultPolicy(), obs, start.Add(tc.after))
			require.Equal(t, tc.reason, got.Reason)
			require.Equal(t, tc.want, got.Kind)
		})
	}
}

func TestADriverOfAnyKindEndsTheRun(t *testing.T) {
	for _, tc := range []struct {
		name   string
		kind   PeerKind
		status string
		want   Kind
		reason string
	}{
		{"a RayJob whose Ray job succeeded", RayJob, `{"jobDeploymentStatus":"Complete","jobStatus":"SUCCEEDED"}`, Succeed, "driver RayJob x is complete"},
		{"a RayJob whose Ray job was stopped", RayJob, `{"jobDeploymentStatus":"Complete","jobStatus":"STOPPED"}`, Fail, `driver RayJob x failed: its Ray job is "STOPPED"`},
		{"a RayJob that tries again", RayJob, `{"jobDeploymentStatus":"Retrying","jobStatus":"FAILED"}`, Wait, ""},
		{"a JobSet that completed", JobSet, `{"conditions":[{"type":"Completed","status":"True"}]}`, Succeed, "driver JobSet x is complete"},
		{"a JobSet that failed", JobSet, `{"conditions":[{"type":"Failed","status":"True","reason":"FailedJobs"}]}`, Fail, "driver JobSet x failed: FailedJobs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o object
			require.NoError(t, json.Unmarshal([]byte(tc.status), &o.Status))
			obs := healthy()
			obs.Driver = Driver{Ref: Ref{tc.kind, "x"}}.fold([]object{o}, nil)
			got := Decide(DefaultPolicy(), obs, start)
			require.Equal(t, tc.want, got.Kind)
			require.Equal(t, tc.reason, got.Reason)
		})
	}
}

func TestFoldOfOtherKinds(t *testing.T) {
	ofRayJob := func(cluster string) []object {
		var o object
		o.Status.RayClusterName = cluster
		return []object{o}
	}
	headOf := func(cluster, uid string) []pod {
		p := ofCluster(cluster, "head")
		p.Metadata.UID = uid
		return []pod{p}
	}
	t.Run("the next cluster of a RayJob has another head", func(t *testing.T) {
		c := Peer{Ref: Ref{RayJob, "x"}}.foldObject(ofRayJob("x-1"), nil, start).foldPods(headOf("x-1", "one"), nil, start)
		require.Equal(t, "one", c.FirstHead)
		c = c.foldObject(ofRayJob("x-2"), nil, start)
		require.Empty(t, c.FirstHead)
		require.Equal(t, notLookedYet, c.PodsBlind)
		c = c.foldPods(headOf("x-1", "one"), nil, start)
		require.Empty(t, c.FirstHead, "a level of the former cluster that comes late")
		c = c.foldPods(headOf("x-2", "two"), nil, start)
		require.Equal(t, "two", c.FirstHead)
		require.Nil(t, judgePeer(DefaultPolicy(), c, start))
	})
	t.Run("the pods of a RayJob that tries again go, and are no evidence", func(t *testing.T) {
		c := Peer{Ref: Ref{RayJob, "x"}}.foldObject(ofRayJob("x-1"), nil, start).foldPods(headOf("x-1", "one"), nil, start)
		retry := ofRayJob("x-1")
		retry[0].Status.JobDeploymentStatus = "Retrying"
		going := headOf("x-1", "one")
		going[0].Metadata.DeletionTimestamp = "now"
		require.NotNil(t, judgePeer(DefaultPolicy(), c.foldPods(going, nil, start), start))
		c = c.foldObject(retry, nil, start)
		require.Empty(t, c.Selector)
		require.Nil(t, judgePeer(DefaultPolicy(), c, start))
	})
	t.Run("the groups of a RayJob are those of its cluster", func(t *testing.T) {
		var o object
		require.NoError(t, json.Unmarshal([]byte(`{"spec":{"rayClusterSpec":{"enableInTreeAutoscaling":true,"workerGroupSpecs":[
			{"groupName":"fixed","minReplicas":2,"maxReplicas":2,"numOfHosts":2},{"groupName":"elastic","minReplicas":0,"maxReplicas":4}]}}}`), &o))
		require.Equal(t, []Group{{Name: "fixed", Min: 4}, {Name: "elastic", Elastic: true}}, readRayJob(o).groups)
		require.Empty(t, readRayCluster(o).groups)
		require.NoError(t, json.Unmarshal([]byte(`{"spec":{"workerGroupSpecs":[{"groupName":"w","minReplicas":1,"maxReplicas":2}]}}`), &o))
		require.Equal(t, []Group{{Name: "w", Min: 1}}, readRayCluster(o).groups, "nobody scales it")
	})
	t.Run("pods that cannot be known yet are not missed", func(t *testing.T) {
		obs := begin(Ref{Name: "rl"}, []Ref{{Deployment, "x"}}, Ref{}, start)
		require.Empty(t, obs.Peers[1].PodsBlind)
		require.Equal(t, notLookedYet, obs.Peers[1].Blind)
	})
	t.Run("a set of pods needs as many as it ever had", func(t *testing.T) {
		set := Peer{Ref: Ref{Pods, "app=x"}}
		two := []pod{{Metadata: objectMeta{UID: "a"}}, {Metadata: objectMeta{UID: "b"}}}
		set = set.foldPods(two, nil, start).foldPods(two[:1], nil, start.Add(time.Minute))
		require.Equal(t, []Group{{Name: groupPods, Min: 2, Have: 1, Complete: true, ShortSince: start.Add(time.Minute)}}, set.Groups)
		require.Equal(t, "pod set app=x has had 1 of 2 pods for 2m0s", judgePeer(DefaultPolicy(), set, start.Add(time.Hour)).Reason)
		require.Equal(t, "pod set app=x is gone", judgePeer(DefaultPolicy(), set.foldPods(nil, nil, start), start).Reason)
	})
	t.Run("a pod of a set that ended well is not missed", func(t *testing.T) {
		done := pod{}
		done.Status.Phase = "Succeeded"
		set := Peer{Ref: Ref{Pods, "app=x"}}.foldPods([]pod{done}, nil, start)
		require.Nil(t, judgePeer(DefaultPolicy(), set, start.Add(time.Hour)))
	})
}

func TestRefs(t *testing.T) {
	for text, want := range map[string]Ref{
		"gym":                  {RayCluster, "gym"},
		"raycluster/gym":       {RayCluster, "gym"},
		"deployment/envs":      {Deployment, "envs"},
		"pods/app=x,role in(y": {Pods, "app=x,role in(y"},
		"pods/x.dev/app=x":     {Pods, "x.dev/app=x"},
	} {
		got, err := ParseRef(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.ErrorContains(t, Ref{Pods, "app=x,role in(y"}.validate("peer"), "want a label selector")
	require.EqualError(t, Ref{Pods, ""}.validate("peer"), "peer: pods without a label selector are all pods: name one")
	require.ErrorContains(t, Ref{"service", "x"}.validate("peer"), `kind "service": want one of raycluster, rayjob`)
	require.ErrorContains(t, Ref{Job, "X_"}.validate("peer"), `peer "X_"`)
	for kind, traits := range kindTraits {
		require.Contains(t, peerKinds, kind)
		require.True(t, kind == Pods || traits.read != nil, kind)
		require.NotNil(t, traits.selector, kind)
	}
}

func TestSelectorOfAnObject(t *testing.T) {
	var o object
	require.NoError(t, json.Unmarshal([]byte(`{"spec":{"selector":{"matchLabels":{"b":"2","a":"1"},"matchExpressions":[
		{"key":"c","operator":"In","values":["x","y"]},{"key":"d","operator":"NotIn","values":["z"]},{"key":"e","operator":"Exists"},{"key":"f","operator":"DoesNotExist"}]}}}`), &o))
	require.Equal(t, "a=1,b=2,c in (x,y),d notin (z),e,!f", o.Spec.Selector.String())
	require.NoError(t, Ref{Pods, o.Spec.Selector.String()}.validate("pods"))
}

func TestAPeerIsNamedOnce(t *testing.T) {
	for name, peers := range map[string][]Ref{
		"the watcher's own cluster": {{Name: "rl"}},
		"twice":                     {{RayCluster, "gym"}, {Name: "gym"}},
	} {
		cfg := Config{Self: Ref{RayCluster, "rl"}, Peers: peers, Policy: DefaultPolicy()}
		require.ErrorContains(t, cfg.validate(), "is named twice", name)
	}
	cfg := Config{Self: Ref{RayCluster, "rl"}, Peers: []Ref{{RayCluster, "gym"}, {Job, "gym"}}, Policy: DefaultPolicy()}
	require.NoError(t, cfg.validate())
}
