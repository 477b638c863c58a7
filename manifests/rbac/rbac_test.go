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
	for _, backend := range []v1alpha1.Backend{v1alpha1.BackendRayCluster, v1alpha1.BackendRayJob} {
		t.Run(string(backend), func(t *testing.T) {
			t.Parallel()
			run := &v1alpha1.Run{}
			run.Metadata.Name, run.Spec.Backend, run.Spec.Driver.Cluster = "a", backend, "rl"
			run.Spec.Clusters = []v1alpha1.Cluster{{Name: "rl"}, {Name: "gym"}}
			requireOnlyItsOwn(t, rbac.Accounts(run))
			run.Spec.Clusters = run.Spec.Clusters[:1]
			requireOnlyItsOwn(t, rbac.Accounts(run))
		})
	}
}

func requireOnlyItsOwn(t *testing.T, accounts []rbac.Account) {
	t.Helper()
	require.Len(t, accounts, 2)
	unnamed := map[string][]string{ // what names no objects, and is all that may
		"pods": {"get", "list", "watch"}, "pods/log": {"get"}, "events": {"create"},
	}
	for _, account := range accounts {
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

func TestTheHeadsOfARayJobMayEndItAndTheOtherClusters(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.Run{}
	run.Metadata.Name, run.Spec.Backend, run.Spec.Driver.Cluster = "a", v1alpha1.BackendRayJob, "rl"
	run.Spec.Clusters = []v1alpha1.Cluster{{Name: "rl"}, {Name: "gym"}}
	may := map[string][]string{}
	for _, rule := range rbac.Accounts(run)[1].Role.Rules {
		if slices.Contains(rule.Verbs, "delete") {
			may[rule.Resources[0]] = rule.ResourceNames
		}
	}
	require.Equal(t, map[string][]string{"rayjobs": {"a"}, "rayclusters": {"a-gym"}}, may)
}

// TestRightsGrowWithThePolicyAlone: who restarts deletes pods, whose names nobody knows; who follows a suspension changes
// the run's own objects.
func TestRightsGrowWithThePolicyAlone(t *testing.T) {
	t.Parallel()
	verbs := func(failure v1alpha1.Failure, resource string) []string {
		run := &v1alpha1.Run{}
		run.Metadata.Name, run.Spec.Backend, run.Spec.Failure = "a", v1alpha1.BackendRayCluster, failure
		run.Spec.Clusters = []v1alpha1.Cluster{{Name: "rl"}, {Name: "gym"}}
		accounts := rbac.Accounts(run)
		for _, rule := range accounts[len(accounts)-1].Role.Rules {
			if rule.Resources[0] == resource {
				return rule.Verbs
			}
		}
		return nil
	}
	restart := v1alpha1.Failure{OnPeerFailure: v1alpha1.PeerFailureRestart, MaxRestarts: 1}
	follow := v1alpha1.Failure{OnSuspend: v1alpha1.SuspendFollow}
	require.Equal(t, []string{"get", "list", "watch", "delete"}, verbs(restart, "pods"))
	require.Equal(t, []string{"get", "list", "watch"}, verbs(follow, "pods"))
	for _, resource := range []string{"rayclusters", "jobs"} {
		require.Equal(t, []string{"get", "list", "watch", "delete"}, verbs(restart, resource))
		require.Equal(t, []string{"get", "list", "watch", "delete", "patch"}, verbs(follow, resource))
	}
}
