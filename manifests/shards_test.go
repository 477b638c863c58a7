package manifests_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
	"github.com/tandem-rl/tandem/registry"
)

// crowded is an example in which workers GPU workers publish, beside the head of Gym.
func crowded(t *testing.T, example string, workers int32) *v1alpha1.Run {
	t.Helper()
	run := load(t, example)
	run.Spec.Clusters[0].Workers[0].Replicas = &workers
	require.NoError(t, run.Validate().ToAggregate())
	return run
}

func TestTheRegistryOfManyPublishersHasShards(t *testing.T) {
	t.Parallel()
	for _, example := range exampleFiles {
		run := crowded(t, example, 16)
		objects := slices.DeleteFunc(render(t, run), func(o *unstructured.Unstructured) bool {
			return o.GetKind() != "ConfigMap" && o.GetKind() != "Role"
		})
		var out bytes.Buffer
		require.NoError(t, manifests.WriteYAML(&out, objects))
		golden.AssertBytes(t, out.Bytes(), example+"-shards.golden.yaml")
		for role, pod := range podsOf(t, run) {
			for _, c := range pod.Spec.InitContainers {
				if c.Name == "registry" {
					args := strings.Join(c.Args, " ")
					require.Contains(t, args, "--shards 5", role)
					require.Equal(t, role == "rl-head", strings.Contains(args, "--fold"), "%s: one place folds", role)
				}
			}
		}
	}
}

func TestFewPublishersSeeNothingOfShards(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, manifests.WriteYAML(&out, render(t, crowded(t, "disagg-jobset", 15))))
	require.NotContains(t, out.String(), "shard")
}

// TestTheLibraryAgreesOnShards: the sidecars find the ConfigMaps that are rendered.
func TestTheLibraryAgreesOnShards(t *testing.T) {
	t.Parallel()
	for _, workers := range []int32{1, 15, 16, 17, 100, 999, 2000} {
		run := crowded(t, "disagg-jobset", workers)
		shards := registry.Shards(int(workers) + 1)
		require.Equal(t, shards, run.RegistryShards(), workers)
		cfg := registry.Config{Run: run.Metadata.Name, Shards: shards}
		require.Equal(t, append([]string{cfg.Name()}, cfg.ShardNames()...), run.RegistryNames())
	}
	require.Equal(t, registry.ShardsAnnotation, v1alpha1.AnnotationRegistryShards)
	require.Equal(t, registry.MaxShards, crowded(t, "disagg-jobset", 9999).RegistryShards())
}
