package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Scheduling says who places the pods, and which of them start together.
type Scheduling struct {
	// Scheduler is default (the default), kai, kueue, or workload: Kubernetes' own gang scheduling (1.35, alpha).
	Scheduler Scheduler `json:"scheduler,omitempty"`
	// Queue is KAI's leaf queue or Kueue's LocalQueue: required for those two, refused for the others.
	Queue string `json:"queue,omitempty"`
	// Gang is which pods are scheduled all or none: run, all of the run; cluster, those of each cluster; none. Default: run with kai and
	// workload (and with kueue where the run is one object), else none.
	Gang Gang `json:"gang,omitempty"`
	// KAIVersion is the version of the KAI scheduler that is installed, as 0.17 or 0.16.8: what is rendered depends on it.
	KAIVersion string `json:"kaiVersion,omitempty"`
	// PriorityClass of all pods; it must exist in the cluster.
	PriorityClass string `json:"priorityClass,omitempty"`
	// Preemptible tells KAI whether the run may be evicted for others; default: what the priority class says.
	Preemptible *bool `json:"preemptible,omitempty"`
	// Topology keeps the pods of a group near each other. With kai only.
	Topology *Topology `json:"topology,omitempty"`
	// StalenessGracePeriod is how long KAI lets a gang run that has lost a pod before it evicts all of it; -1s is for ever. KAI 0.17
	// and later; default: KAI's own, 60s.
	StalenessGracePeriod *metav1.Duration `json:"stalenessGracePeriod,omitempty"`
}

// Scheduler names a scheduler.
type Scheduler string

// The schedulers.
const (
	// SchedulerDefault is the cluster's default scheduler.
	SchedulerDefault Scheduler = "default"
	// SchedulerKAI is the KAI scheduler.
	SchedulerKAI Scheduler = "kai"
	// SchedulerKueue is Kueue, which admits; the default scheduler places.
	SchedulerKueue Scheduler = "kueue"
	// SchedulerWorkload is the default scheduler with Kubernetes' own gang scheduling.
	SchedulerWorkload Scheduler = "workload"
)

// Gang is which pods are scheduled all or none.
type Gang string

// The gangs.
const (
	// GangRun starts all pods of the run together.
	GangRun Gang = "run"
	// GangCluster starts the pods of each cluster together.
	GangCluster Gang = "cluster"
	// GangNone starts each pod when it has room.
	GangNone Gang = "none"
)

// Topology keeps each worker group that has GPUs, or each of its segments, within one domain of a KAI Topology.
type Topology struct {
	// Name of the Topology object.
	Name string `json:"name"`
	// Required is the level, a node label, whose domain the pods must share.
	Required string `json:"required,omitempty"`
	// Preferred is the level whose domain they should share.
	Preferred string `json:"preferred,omitempty"`
}
