package v1alpha1

import "fmt"

// ConfigMapName is the run's endpoint registry; the prefix is NeMo-RL's.
func ConfigMapName(run string) string { return "nemo-rl-endpoints-" + run }

// RegistryShardName is shard i of the registry. The dot keeps it apart from the registry of a run that is called "<run>-shard-0".
func RegistryShardName(run string, i int) string {
	return fmt.Sprintf("%s.shard-%d", ConfigMapName(run), i)
}

// RegistryNames are the ConfigMaps of the run's registry: its own, then the shards.
func (r *Run) RegistryNames() []string {
	names := []string{ConfigMapName(r.Metadata.Name)}
	for i := range r.RegistryShards() {
		names = append(names, RegistryShardName(r.Metadata.Name, i))
	}
	return names
}

// RegistryAccountName is the ServiceAccount, Role and RoleBinding of pods that only use the registry.
func RegistryAccountName(run string) string { return run + "-registry" }

// PeerwatchAccountName is the ServiceAccount, Role and RoleBinding of RayCluster heads: registry and cascade.
func PeerwatchAccountName(run string) string { return run + "-peerwatch" }

// NetworkPolicyName is the NetworkPolicy of a run.
func NetworkPolicyName(run string) string { return run }

// WorkloadName is the Workload of a run that Kubernetes itself schedules as a gang.
func WorkloadName(run string) string { return run }

// RayClusterName is the RayCluster of a cluster.
func RayClusterName(run, cluster string) string { return run + "-" + cluster }

// JobSetName is the JobSet of a run.
func JobSetName(run string) string { return run }

// DriverJobName is the driver's Job of the raycluster backend.
func DriverJobName(run string) string { return run + "-" + GroupDriver }

// RayJobName is the RayJob of a run.
func RayJobName(run string) string { return run }

// ClaimTemplateName is the ResourceClaimTemplate behind a claim: one for each cluster, one for the run, or one that exists.
func ClaimTemplateName(run, cluster string, claim *Claim) string {
	switch {
	case claim.ResourceClaimTemplate != "":
		return claim.ResourceClaimTemplate
	case claim.Shared:
		return run + "-" + claim.Name
	default:
		return run + "-" + cluster + "-" + claim.Name
	}
}

// Claim finds a claim by name; nil if there is none.
func (r *Run) Claim(name string) *Claim {
	for i := range r.Spec.Claims {
		if r.Spec.Claims[i].Name == name {
			return &r.Spec.Claims[i]
		}
	}
	return nil
}

// ReplicatedJobName is the replicatedJob of a group; that of the driver is GroupDriver.
func ReplicatedJobName(cluster, group string) string { return cluster + "-" + group }

// envRayHead is what KubeRay calls the host of the head in the containers of a cluster's workers.
const envRayHead = "FQ_RAY_IP"

// InRayJob tells whether a cluster belongs to the run's RayJob: KubeRay makes up the RayCluster's name.
func (r *Run) InRayJob(c *Cluster) bool {
	return c != nil && r.Spec.Backend == BackendRayJob && c.Name == r.Spec.Driver.Cluster
}

func (r *Run) cluster(name string) *Cluster {
	for i := range r.Spec.Clusters {
		if r.Spec.Clusters[i].Name == name {
			return &r.Spec.Clusters[i]
		}
	}
	return nil
}

// HeadHost is the DNS name of a cluster's head; in a RayJob's cluster a variable that KubeRay sets in its workers.
//
// Both JobSet and KubeRay make a headless service whose names resolve before the pod is ready, and not before it has an address.
func (r *Run) HeadHost(cluster string) string {
	if r.InRayJob(r.cluster(cluster)) {
		return "$(" + envRayHead + ")"
	}
	if r.Spec.Backend.OnKubeRay() {
		return fmt.Sprintf("%s-head-svc.%s.svc.cluster.local", RayClusterName(r.Metadata.Name, cluster), r.Metadata.Namespace)
	}
	return jobSetHost(r.Metadata.Name, ReplicatedJobName(cluster, GroupHead))
}

// jobSetHost is the host of a replicatedJob's first pod; JobSet also writes that of the coordinator into a label.
func jobSetHost(run, replicatedJob string) string {
	return fmt.Sprintf("%s-%s-0-0.%s", JobSetName(run), replicatedJob, JobSetName(run))
}

// Labels are the labels of the run's objects; cluster and group are left out where empty.
func Labels(run, cluster, group string) map[string]string {
	labels := map[string]string{LabelRun: run, LabelManagedBy: ManagedBy}
	if cluster != "" {
		labels[LabelCluster] = cluster
	}
	if group != "" {
		labels[LabelGroup] = group
	}
	return labels
}
