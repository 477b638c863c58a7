package rbac_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/rbac"
)

// TestP12NoPodMayTouchWhatIsNotItsRuns: the role of the inline watcher may delete any RayCluster and any ConfigMap.
func TestP12NoPodMayTouchWhatIsNotItsRuns(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.Run{}
	run.Metadata.Name, run.Spec.Backend = "a", v1alpha1.BackendRayCluster
	run.Spec.Clusters = []v1alpha1.Cluster{{Name: "rl"}, {Name: "gym"}}
	unnamed := map[string][]string{ // what names no objects, and is all that may
		"pods": {"get", "list", "watch"}, "pods/log": {"get"}, "events": {"create"},
	}
	for _, account := range rbac.Accounts(run) {
		require.False(t, *account.ServiceAccount.AutomountServiceAccountToken)
		for _, rule := range account.Role.Rules {
			require.Len(t, rule.Resources, 1)
			if len(rule.ResourceNames) == 0 {
				require.Equal(t, unnamed[rule.Resources[0]], rule.Verbs, rule.Resources)
				continue
			}
			require.NotContains(t, rule.Verbs, "create")
			require.False(t, rule.Resources[0] == "configmaps" && slices.Contains(rule.Verbs, "delete"))
		}
	}
}
