package pod_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// containersOf are all containers of all pod templates within an object.
func containersOf(value any) (found []map[string]any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if list, ok := inner.([]any); ok && (key == "containers" || key == "initContainers") {
				for _, one := range list {
					found = append(found, one.(map[string]any))
				}
				continue
			}
			found = append(found, containersOf(inner)...)
		}
	case []any:
		for _, inner := range v {
			found = append(found, containersOf(inner)...)
		}
	}
	return found
}

// rendered are the containers of an example whose heads and workers name images of their own.
func rendered(t *testing.T, example string) (run *v1alpha1.Run, byName map[string][]map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", example+".yaml"))
	require.NoError(t, err)
	run, err = v1alpha1.Load(data)
	require.NoError(t, err)
	run.Metadata.Namespace, run.Spec.SidecarImage = "default", "tandem.test/sidecars:1"
	for i := range run.Spec.Clusters {
		cluster := &run.Spec.Clusters[i]
		cluster.Head.Image = "ray.test/head:1"
		for j := range cluster.Workers {
			cluster.Workers[j].Image = "ray.test/worker:1"
		}
	}
	objects, err := manifests.Render(run)
	require.NoError(t, err)
	byName = map[string][]map[string]any{}
	for _, object := range objects {
		for _, container := range containersOf(object.Object) {
			name := container["name"].(string)
			byName[name] = append(byName[name], container)
		}
	}
	return run, byName
}

// TestP9TheWatcherIsOneBinaryOfOneImage: the inline watcher is a script that is pasted into each head, and runs on an image
// of somebody else.
func TestP9TheWatcherIsOneBinaryOfOneImage(t *testing.T) {
	t.Parallel()
	for _, example := range []string{"disagg-raycluster", "disagg-rayjob"} {
		run, byName := rendered(t, example)
		require.Len(t, byName["peerwatch"], len(run.Spec.Clusters), "one in each head")
		for _, container := range byName["peerwatch"] {
			require.Equal(t, []any{"/peerwatch"}, container["command"])
			require.Equal(t, run.Spec.SidecarImage, container["image"])
		}
	}
	_, byName := rendered(t, "disagg-jobset")
	require.Empty(t, byName["peerwatch"], "a JobSet has its own failure policy")
}

// TestP13AnImageOfAClusterIsNotASidecars: nrl-k8s replaces the image of every container of a pod.
func TestP13AnImageOfAClusterIsNotASidecars(t *testing.T) {
	t.Parallel()
	for _, example := range []string{"disagg-jobset", "disagg-raycluster", "disagg-rayjob"} {
		run, byName := rendered(t, example)
		for name, containers := range byName {
			for _, container := range containers {
				ours := container["command"] != nil && (container["command"].([]any)[0] == "/registry" || container["command"].([]any)[0] == "/peerwatch")
				require.Equal(t, ours, container["image"] == run.Spec.SidecarImage, "%s: container %s has image %s", example, name, container["image"])
			}
		}
	}
}
