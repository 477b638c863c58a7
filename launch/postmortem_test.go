package launch

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/peerwatch"
	"github.com/tandem-rl/tandem/registry"
)

func TestAFailedRunTellsWhatPeerwatchKept(t *testing.T) {
	t.Parallel()
	require.Equal(t, peerwatch.PostMortemAnnotation, annotationPostMortem)
	require.Equal(t, registry.IncarnationAnnotation, annotationIncarnation)
	text, err := json.Marshal(peerwatch.PostMortem{Incarnation: "2", Containers: []peerwatch.Remains{
		{Pod: "a-gym-head", Container: "ray", ExitCode: new(137), Reason: "OOMKilled", Log: "Killed"},
	}})
	require.NoError(t, err)
	s := &snapshot{name: "a", configMap: &corev1.ConfigMap{Data: map[string]string{v1alpha1.ErrorKey: "gym died"}}}
	s.configMap.Labels = map[string]string{v1alpha1.LabelBackend: string(v1alpha1.BackendRayCluster)}
	s.configMap.Annotations = map[string]string{annotationPostMortem: string(text), annotationIncarnation: "2"}

	kept := assess(s).PostMortem
	require.Equal(t, []EndedContainer{{Pod: "a-gym-head", Container: "ray", ExitCode: new(137), Reason: "OOMKilled", Log: "Killed"}}, kept)
	require.Equal(t, "container ray of pod a-gym-head ended with exit code 137 (OOMKilled)", kept[0].String())

	s.configMap.Annotations[annotationIncarnation] = "3"
	require.Empty(t, assess(s).PostMortem, "that was another incarnation's")
	s.configMap.Annotations[annotationPostMortem] = "{"
	require.Empty(t, assess(s).PostMortem)
}
