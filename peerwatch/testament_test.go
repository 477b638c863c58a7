package peerwatch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const lastReason = "head pod rl-head of RayCluster rl is being terminated"

// lastWords is the specification of bequeath; docs/peerwatch.md shows it.
var lastWords = []struct {
	name   string
	change func(*Observation)
	want   Testament
	reason string
}{
	{"its head pod is being deleted", func(o *Observation) { rl(o).Heads[0].Deleting = true }, Tell, lastReason},
	{"its node is drained", func(o *Observation) {
		rl(o).Heads[0].Deleting, rl(o).Heads[0].Disruption = true, "EvictionByEvictionAPI: Eviction API: evicting"
	}, Tell, lastReason + ": EvictionByEvictionAPI: Eviction API: evicting"},
	{"its node shuts down, and the kubelet says so", func(o *Observation) {
		rl(o).Heads[0].Failed, rl(o).Heads[0].Disruption = true, "TerminationByKubelet: Pod was terminated in response to imminent node shutdown."
	}, Tell, lastReason + ": TerminationByKubelet: Pod was terminated in response to imminent node shutdown."},
	{"its node shuts down, and only the Ray container has ended", func(o *Observation) {
		rl(o).Heads[0].Containers[0].Exit = &Exit{143, "Error"}
	}, Tell, lastReason},
	{"its container alone is started again", func(*Observation) {}, Unclear, ""},
	{"another sidecar has ended as well", func(o *Observation) { rl(o).Heads[0].Containers[1].Exit = &Exit{0, "Completed"} }, Unclear, ""},
	{"the run is being removed", func(o *Observation) { rl(o).Heads[0].Deleting, o.Registry.Removing = true, true }, Silent, ""},
	{"the run has been removed", func(o *Observation) { rl(o).Heads[0].Deleting, o.Registry.Present = true, false }, Silent, ""},
	{"somebody has told why", func(o *Observation) { rl(o).Heads[0].Deleting, o.Registry.Error = true, "CUDA out of memory" }, Silent, ""},
	{"the driver is complete", func(o *Observation) { rl(o).Heads[0].Deleting, o.Driver.Condition = true, Complete }, Silent, ""},
	{"its cluster is being deleted, which the peers see", func(o *Observation) { rl(o).Heads[0].Deleting, rl(o).Deleting = true, true }, Silent, ""},
	{"its cluster is gone, which the peers see", func(o *Observation) { absent(rl(o)) }, Silent, ""},
	{"its cluster was replaced, which the peers see", func(o *Observation) { rl(o).Heads[0].Deleting, rl(o).UID = true, "rl-2" }, Silent, ""},
	{"its cluster is suspended", func(o *Observation) { rl(o).Heads[0].Deleting, rl(o).Suspended = true, true }, Silent, ""},
	{"the run is being started again", func(o *Observation) {
		rl(o).Heads[0].Deleting, rl(o).Former = true, former{"rl-head-1": true}
	}, Silent, ""},
	{"it cannot see the registry", func(o *Observation) { rl(o).Heads[0].Deleting, o.Registry.Blind = true, "503" }, Unclear, ""},
	{"it cannot see the driver", func(o *Observation) { rl(o).Heads[0].Deleting, o.Driver.Blind = true, "503" }, Unclear, ""},
	{"it cannot see its cluster", func(o *Observation) { rl(o).Heads[0].Deleting, rl(o).Blind = true, "503" }, Unclear, ""},
	{"it cannot see its pod", func(o *Observation) { rl(o).Heads[0].Deleting, rl(o).PodsBlind = true, "503" }, Unclear, ""},
}

func TestLastWords(t *testing.T) {
	for _, tc := range lastWords {
		t.Run(tc.name, func(t *testing.T) {
			obs := healthy()
			tc.change(&obs)
			testament, reason := bequeath(DefaultPolicy(), obs, "rl-head")
			require.Equal(t, tc.want, testament)
			require.Equal(t, tc.reason, reason)
		})
	}
	for policy, want := range map[OnFailure]Testament{FailureSignal: Tell, FailureRestart: Tell, FailureIgnore: Silent, FailureDryRun: Silent} {
		obs := healthy()
		rl(&obs).Heads[0].Deleting = true
		testament, _ := bequeath(Policy{OnFailure: policy}, obs, "")
		require.Equal(t, want, testament, policy)
	}
}
