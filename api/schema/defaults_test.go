package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]Default{
		"run.spec.sidecarImage":              {Value: v1alpha1.DefaultSidecarImage},
		"run.spec.failure.startupGrace":      {Value: "20m"},
		"run.spec.failure.onPeerFailure":     {Value: "cascade"},
		"run.spec.clusters.ports.gcs":        {Value: float64(v1alpha1.DefaultGCSPort)},
		"run.spec.clusters.workers.replicas": {Value: 1.0},
		"run.spec.scheduling.scheduler":      {Value: "default"},
		"run.spec.scheduling.gang":           {DependsOn: []string{"run.spec.backend", "run.spec.scheduling.scheduler"}},
		"run.spec.scheduling.kaiVersion":     {DependsOn: []string{"run.spec.scheduling.scheduler"}},
		"run.spec.image":                     {},
		"run.apiVersion":                     {},
	} {
		f, err := Find(path)
		require.NoError(t, err)
		require.Equal(t, want, f.Default(), path)
	}
}

// TestADefaultBelongsToItsType: the schema defines a type once, so a field of it has one default, wherever the type is used.
func TestADefaultBelongsToItsType(t *testing.T) {
	t.Parallel()
	known := map[string]Default{}
	for _, f := range all(t, Root()) {
		if first, met := known[f.goName]; met {
			require.Equal(t, first, f.Default(), f.Path)
		}
		known[f.goName] = f.Default()
	}
}
