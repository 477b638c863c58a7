// Package rbac builds the service accounts of a run and what they may do.
//
// It promises that every rule that can be narrowed names its objects, and that no pod may create or delete a ConfigMap: the run's
// is made before any pod. Only heads that KubeRay makes may delete anything, and only what belongs to their run. Reading
// pods cannot be narrowed by name, since KubeRay makes the names up; nor can creating Events, since a new object has no
// name yet.
package rbac

import (
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests/pod"
)

// Account is a ServiceAccount with its Role and RoleBinding, all of one name.
type Account struct {
	ServiceAccount *corev1ac.ServiceAccountApplyConfiguration
	Role           *rbacv1ac.RoleApplyConfiguration
	RoleBinding    *rbacv1ac.RoleBindingApplyConfiguration
}

// Accounts are those of the run's pods.
func Accounts(run *v1alpha1.Run) []Account {
	name := run.Metadata.Name
	accounts := []Account{account(run, v1alpha1.RegistryAccountName(name), registryRules(run))}
	if run.Spec.Backend.OnKubeRay() {
		rules := slices.Concat(registryRules(run), peerwatchRules(run))
		accounts = append(accounts, account(run, v1alpha1.PeerwatchAccountName(name), rules))
	}
	return accounts
}

func account(run *v1alpha1.Run, name string, rules []*rbacv1ac.PolicyRuleApplyConfiguration) Account {
	namespace, labels := run.Metadata.Namespace, pod.Labels(run, "", "")
	return Account{
		// Pods mount the token by a projected volume into the sidecars alone.
		ServiceAccount: corev1ac.ServiceAccount(name, namespace).WithLabels(labels).WithAutomountServiceAccountToken(false),
		Role:           rbacv1ac.Role(name, namespace).WithLabels(labels).WithRules(rules...),
		RoleBinding: rbacv1ac.RoleBinding(name, namespace).WithLabels(labels).
			WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup("rbac.authorization.k8s.io").WithKind("Role").WithName(name)).
			WithSubjects(rbacv1ac.Subject().WithKind("ServiceAccount").WithName(name).WithNamespace(namespace)),
	}
}

// registryRules: read and write the run's endpoints.
func registryRules(run *v1alpha1.Run) []*rbacv1ac.PolicyRuleApplyConfiguration {
	return []*rbacv1ac.PolicyRuleApplyConfiguration{
		rule("", "configmaps", "get", "list", "watch", "patch").WithResourceNames(run.RegistryNames()...),
	}
}

// peerwatchRules: watch the run, take it down, and say why.
func peerwatchRules(run *v1alpha1.Run) []*rbacv1ac.PolicyRuleApplyConfiguration {
	pods := rule("", "pods", "get", "list", "watch")
	if run.Spec.Failure.Restarts() > 0 {
		pods.WithVerbs("delete") // a restart deletes them, and their names are made up
	}
	return append(workloadRules(run),
		pods,
		rule("", "pods/log", "get"),
		rule("events.k8s.io", "events", "create"))
}

// workloadRules name the clusters and the driver. A RayJob is both; what it says of the RayCluster whose name KubeRay makes up is in its
// status, and it takes that RayCluster with it.
func workloadRules(run *v1alpha1.Run) []*rbacv1ac.PolicyRuleApplyConfiguration {
	name := run.Metadata.Name
	var clusters []string
	for i := range run.Spec.Clusters {
		if cluster := &run.Spec.Clusters[i]; !run.InRayJob(cluster) {
			clusters = append(clusters, v1alpha1.RayClusterName(name, cluster.Name))
		}
	}
	var rules []*rbacv1ac.PolicyRuleApplyConfiguration
	mayEnd := func(group, resource string, names ...string) {
		if len(names) == 0 { // a rule without names is for all
			return
		}
		may := rule(group, resource, "get", "list", "watch", "delete").WithResourceNames(names...)
		if run.Spec.Failure.OnSuspend == v1alpha1.SuspendFollow {
			may.WithVerbs("patch") // spec.suspend
		}
		rules = append(rules, may)
	}
	mayEnd("ray.io", "rayclusters", clusters...)
	if run.Spec.Backend.DriverHasPod() {
		mayEnd("batch", "jobs", v1alpha1.DriverJobName(name))
	} else {
		mayEnd("ray.io", "rayjobs", v1alpha1.RayJobName(name))
	}
	return rules
}

func rule(group, resource string, verbs ...string) *rbacv1ac.PolicyRuleApplyConfiguration {
	return rbacv1ac.PolicyRule().WithAPIGroups(group).WithResources(resource).WithVerbs(verbs...)
}
