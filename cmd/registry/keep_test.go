package main

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/registry"
)

// testKeeps: what was published stays, whatever becomes of the ConfigMap, until it is withdrawn or the run is removed.
func testKeeps(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "keeps")
	admin, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	k := keeping{admin.CoreV1().ConfigMaps("default"), registry.DefaultPrefix + "keeps"}
	s := startSidecar(t, openStore(t, cfg, "keeps", "pod"),
		publication{key: "k", url: "http://10.0.0.1:1"},
		publication{key: "l", url: "m", member: true})
	people := openStore(t, cfg, "keeps", "people")
	both := map[string]string{"k": "http://10.0.0.1:1", "l": `["m"]`}
	k.becomes(t, both)

	require.NoError(t, people.Delete(t.Context(), "k"))
	require.NoError(t, people.Delete(t.Context(), "l"))
	k.becomes(t, both)

	require.NoError(t, k.maps.Delete(t.Context(), k.name, metav1.DeleteOptions{}))
	createRun(t, cfg, "keeps")
	k.becomes(t, both)

	require.NoError(t, people.Set(t.Context(), "k", "http://10.0.0.2:2"))
	require.NoError(t, people.Join(t.Context(), "l", "other"))
	require.NoError(t, people.Leave(t.Context(), "l", "m"))
	k.becomes(t, map[string]string{"k": "http://10.0.0.2:2", "l": `["m", "other"]`}) // the last writer of a value wins

	mark := `{"metadata":{"annotations":{"` + v1alpha1.AnnotationRemoving + `":"2026-01-01T00:00:00Z"}},"data":null}`
	_, err = k.maps.Patch(t.Context(), k.name, types.MergePatchType, []byte(mark), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Never(t, func() bool { return len(k.data(t)) > 0 }, 2*lossAfter, 50*time.Millisecond, "the run is being removed")
	require.NoError(t, s.stop())
	require.Empty(t, k.data(t))
}

// testWithdrawnStaysAway: the one who keeps an endpoint is not the one who brings it back after it broke.
func testWithdrawnStaysAway(t *testing.T, cfg *rest.Config) {
	createRun(t, cfg, "stays-away")
	admin, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	k := keeping{admin.CoreV1().ConfigMaps("default"), registry.DefaultPrefix + "stays-away"}
	s := startSidecar(t, openStore(t, cfg, "stays-away", "pod"), publication{key: "k", url: "http://10.0.0.1:1"})
	k.becomes(t, map[string]string{"k": "http://10.0.0.1:1"})
	require.NoError(t, openStore(t, cfg, "stays-away", "people").Delete(t.Context(), "k"))
	require.NoError(t, s.stop(), "while it is about to publish again")
	require.Never(t, func() bool { return len(k.data(t)) > 0 }, 2*lossAfter, 50*time.Millisecond)
}

// keeping is a ConfigMap that is looked at.
type keeping struct {
	maps corev1client.ConfigMapInterface
	name string
}

func (k keeping) data(t *testing.T) map[string]string {
	t.Helper()
	cm, err := k.maps.Get(t.Context(), k.name, metav1.GetOptions{})
	require.NoError(t, err)
	return cm.Data
}

func (k keeping) becomes(t *testing.T, want map[string]string) {
	t.Helper()
	require.Eventually(t, func() bool { return maps.Equal(want, k.data(t)) }, 20*time.Second, 20*time.Millisecond,
		"want %v", want)
}
