package graph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

func frameCalled(t *testing.T, frames []Frame, name string) Frame {
	t.Helper()
	for _, frame := range frames {
		if frame.Name == name {
			return frame
		}
	}
	require.Fail(t, "no frame", name)
	return Frame{}
}

func TestAGangIsAFrameAroundWhatStartsTogether(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		backend v1alpha1.Backend
		gang    v1alpha1.Gang
		frames  []string
		driver  bool // in a gang
	}{
		{"all clusters of the run, and the driver's pod", v1alpha1.BackendRayCluster, v1alpha1.GangRun, []string{"gang", "registry"}, true},
		{"a RayJob's driver has no pod", v1alpha1.BackendRayJob, v1alpha1.GangRun, []string{"gang", "registry"}, false},
		{"one for each cluster", v1alpha1.BackendRayCluster, v1alpha1.GangCluster, []string{"gang", "gang", "gang", "registry"}, false},
		{"none", v1alpha1.BackendJobSet, v1alpha1.GangNone, []string{"rl", "generation", "gym", "registry"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := loaded(t, rich)
			run.Spec.Backend, run.Spec.Scheduling.Gang = tt.backend, tt.gang
			g := Of(run)
			var frames []string
			for _, frame := range g.Frames {
				frames = append(frames, frame.Name)
			}
			require.Equal(t, tt.frames, frames)
			require.Equal(t, tt.driver, len(g.Frames[0].Nodes) > 0 && g.Frames[0].Nodes[0].ID == "driver")
		})
	}
}

func TestGroupsOfACrowdedClusterShareBoxes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		groups, want int
	}{
		{"few are drawn one by one, though they are alike", mergeAbove, mergeAbove},
		{"of many, equal neighbours are drawn as one", mergeAbove + 1, 3},
		{"what is still too much is one box at the end", 100, maxBoxes},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := fleet(t, 1, tt.groups, short)
			got := boxes(&run.Spec.Clusters[0])
			require.Len(t, got, tt.want)
		})
	}
	run := fleet(t, 1, 100, short)
	got := boxes(&run.Spec.Clusters[0])
	require.Equal(t, "group-003 … group-005", got[1].name)
	require.Equal(t, []string{"3 groups, each:", "2 pods x 1 GPU"}, got[1].lines)
	require.Equal(t, "67 more groups", got[maxBoxes-1].name)
	require.Len(t, got[maxBoxes-1].publish, 1, "the key that all of them publish")
}

func TestAFailureIsFollowedByWhatTheFileSays(t *testing.T) {
	t.Parallel()
	for reaction, want := range map[v1alpha1.OnPeerFailure]string{
		v1alpha1.PeerFailureCascade: "a failure takes the run down",
		v1alpha1.PeerFailureRestart: "a failure starts all again, at most 3 times",
		v1alpha1.PeerFailureSignal:  "a failure is reported to the registry",
		v1alpha1.PeerFailureIgnore:  "a failure is ignored",
	} {
		run := loaded(t, rich)
		run.Spec.Failure.OnPeerFailure = reaction
		require.Contains(t, Of(run).Nodes[0].Lines, want)
	}
}

func TestWhatIsKnownOfKeysIsDrawn(t *testing.T) {
	t.Parallel()
	g := Of(loaded(t, rich))
	registry := frameCalled(t, g.Frames, "registry")
	require.Equal(t, []string{"a list of 8 URLs", "once GET /health answers"}, registry.Nodes[0].Lines)
	require.Contains(t, g.Edges, Edge{"k0", headID(2), ReadBy}, "the environments call the model")
	require.Contains(t, g.Edges, Edge{"k1", headID(0), ReadBy}, "the driver looks for the environments")

	run := loaded(t, rich)
	for i := range run.Spec.Clusters {
		run.Spec.Clusters[i].Publish = nil
	}
	require.Contains(t, frameCalled(t, Of(run).Frames, "registry").Lines, "no keys are published")
}

func TestWhatACommandAsksTheRegistryForIsDrawn(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"a key that is waited for", "registry wait --timeout 5m gym_head_server", "gym_head_server"},
		{"a key in a script", `URL="$(registry get vllm_base_urls)" && serve`, "vllm_base_urls"},
		{"a path to the program", "/opt/registry get vllm_base_urls | head -1", "vllm_base_urls"},
		{"a key of another command", "registry serve; echo vllm_base_urls", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := loaded(t, rich)
			run.Spec.Clusters[1].Workers[0].Setup = tt.text
			var got string
			for _, edge := range Of(run).Edges {
				if edge.Kind == ReadBy && edge.To == "c1_g0" {
					got = map[string]string{"k0": keyVLLM, "k1": v1alpha1.KeyGymHead}[edge.From]
				}
			}
			require.Equal(t, tt.want, got)
		})
	}
}
