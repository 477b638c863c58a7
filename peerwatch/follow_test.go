package peerwatch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// following is the specification of the policy follow; docs/peerwatch.md shows it. In each row all are as in a run with
// three clusters and a driver, of which some are suspended: "own" by somebody's wish, "with" because something else was.
var followings = []struct {
	name   string
	rl     string
	gym    string
	driver string
	change func(*Observation)
	want   Kind
	reason string
}{
	{"nothing is suspended", "", "", "", nil, Wait, ""},
	{"a peer is suspended", "", "own", "", nil, Suspend, "RayCluster gym is suspended, so Job driver, RayCluster rl follow"},
	{"the driver is suspended", "", "", "own", nil, Suspend, "Job driver is suspended, so RayCluster gym, RayCluster rl follow"},
	{"its own cluster is suspended", "own", "", "with", nil, Suspend, "RayCluster rl is suspended, so RayCluster gym follows"},
	{"all follow", "with", "own", "with", nil, Wait, "RayCluster rl is suspended"},
	{"two are suspended by somebody's wish, and one of them is resumed", "", "own", "with", nil, Suspend, "RayCluster gym is suspended, so RayCluster rl follows"},
	{"the first is resumed", "", "with", "with", nil, Resume, "nobody wants a suspension any more, so Job driver, RayCluster gym follow"},
	{"one that followed is resumed by hand, and follows again", "", "own", "with", nil, Suspend, "RayCluster gym is suspended, so RayCluster rl follows"},
	{"all are resumed", "", "", "", nil, Wait, ""},
	{"what cannot be seen may want the suspension", "", "with", "with", func(o *Observation) { gym(o).Blind = "503" }, Blind, "cannot see RayCluster gym: 503"},
	{"a driver that has ended is left alone", "", "with", "", func(o *Observation) { o.Driver.Wish.Version = "" }, Resume, "nobody wants a suspension any more, so RayCluster gym follows"},
	{"a failure comes first", "", "own", "", func(o *Observation) { rl(o).Workers[0].Containers[0].Restarts = 1 }, Fail, `container "ray-worker" of worker pod rl-worker of RayCluster rl restarted`},
	{"a removal comes first", "", "own", "", func(o *Observation) { o.Registry.Removing = true }, Wait, "the run is being removed"},
}

func wishOf(ref Ref, how string) Wish {
	w := Wish{Ref: ref, Version: "1", Suspend: how != ""}
	if how == "with" {
		w.With = "something else"
	}
	return w
}

func TestFollow(t *testing.T) {
	policy := DefaultPolicy()
	policy.OnSuspend = SuspendFollow
	for _, tc := range followings {
		t.Run(tc.name, func(t *testing.T) {
			obs := healthy()
			rl(&obs).Kind, gym(&obs).Kind = RayCluster, RayCluster
			rl(&obs).Suspended, gym(&obs).Suspended = tc.rl != "", tc.gym != ""
			rl(&obs).Wish, gym(&obs).Wish, obs.Driver.Wish = wishOf(rl(&obs).Ref, tc.rl), wishOf(gym(&obs).Ref, tc.gym), wishOf(theDriver, tc.driver)
			if tc.change != nil {
				tc.change(&obs)
			}
			require.Equal(t, Action{Kind: tc.want, Reason: tc.reason}, Decide(policy, obs, start))
		})
	}
}

func TestWishes(t *testing.T) {
	var o object
	o.Spec.Suspend, o.Metadata.ResourceVersion = true, "7"
	require.True(t, Ref{RayCluster, "x"}.wish(o, "").own())
	require.NotEmpty(t, Ref{RayCluster, "x"}.wish(o, "").Version)
	require.Empty(t, Ref{RayJob, "x"}.wish(o, "").Version, "KubeRay would fail one that keeps its cluster")
	o.Spec.ShutdownAfterJobFinishes = true
	require.NotEmpty(t, Ref{RayJob, "x"}.wish(o, "").Version)
	o.Spec.ClusterSelector = map[string]string{"ray.io/cluster": "another"}
	require.Empty(t, Ref{RayJob, "x"}.wish(o, "").Version, "and one that uses another's")
	require.Empty(t, Ref{Job, "x"}.wish(o, Complete).Version, "it has ended")
	require.Empty(t, Ref{Deployment, "x"}.wish(o, "").Version, "it cannot be suspended")
	o.Metadata.Annotations = map[string]string{SuspendedWithAnnotation: "RayCluster gym"}
	require.False(t, Ref{RayJob, "x"}.wish(o, "").own())
	o.Metadata.DeletionTimestamp = "now"
	require.Empty(t, Ref{Job, "x"}.wish(o, "").Version, "it goes")
}

func TestADriverThatIsTheWatchersOwnGoesLast(t *testing.T) {
	obs := healthy()
	ref := Ref{RayJob, "rl"}
	rl(&obs).Ref, obs.Driver.Ref = ref, ref
	rl(&obs).Wish, obs.Driver.Wish, gym(&obs).Wish = wishOf(ref, ""), wishOf(ref, ""), wishOf(Ref{RayCluster, "gym"}, "")
	require.Equal(t, []Wish{gym(&obs).Wish, rl(&obs).Wish}, obs.wishes())
}
