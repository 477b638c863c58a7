package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// APIVersion and Kind head every Run file.
const (
	APIVersion = "tandem.dev/v1alpha1"
	Kind       = "Run"
)

// Run is one training job: everything that lives and dies together.
type Run struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`

	lines lines // where each field was in the file; nil for a Run made in Go
}

// Metadata names the run. The name is also the job id that the training code uses.
type Metadata struct {
	// Name of the run; lower-case letters, digits and -, beginning with a letter. How long it may be depends on the backend.
	Name string `json:"name"`
	// Namespace is optional in the file; the CLI fills it from --namespace or the kubeconfig context.
	Namespace string `json:"namespace,omitempty"`
}

// Spec is what the run consists of. The pod settings in it are those of every Ray pod of the run.
type Spec struct {
	Backend Backend `json:"backend"`
	// Image is the trainer image: Ray and the training code.
	Image string `json:"image"`
	// ImagePullPolicy of all containers; default Kubernetes' own.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// ImagePullSecrets are names of Secrets for registries that ask for credentials.
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	// SidecarImage holds /registry and /peerwatch.
	SidecarImage string `json:"sidecarImage,omitempty"`
	// RayVersion tells KubeRay which Ray the image holds.
	RayVersion string `json:"rayVersion,omitempty"`
	// User is who owns the run: a label on all of its objects. The CLI fills in the user of the operating system.
	User string `json:"user,omitempty"`
	// Code is where the training code comes from, if it is not in the image.
	Code *Code `json:"code,omitempty"`
	// RayToken is the key of a Secret that holds Ray's authentication token (Ray 2.52 and later): nobody without it may use the
	// clusters. Not for the rayjob backend.
	RayToken   *corev1.SecretKeySelector `json:"rayToken,omitempty"`
	Scheduling Scheduling                `json:"scheduling,omitempty"`
	Failure    Failure                   `json:"failure,omitempty"`
	// PortRanges are fixed ranges for ports that processes choose by themselves.
	PortRanges PortRanges `json:"portRanges,omitempty"`
	// NetworkPolicy lets only pods of the run reach its pods; default false, since some networks do not know of it.
	NetworkPolicy bool `json:"networkPolicy,omitempty"`
	// TTLAfterFinished is how long the objects of a finished run stay; default: until `tandem down`.
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`
	// Claims are devices that groups refer to by name (dynamic resource allocation).
	Claims      []Claim `json:"claims,omitempty"`
	PodSettings `json:",inline"`
	Clusters    []Cluster `json:"clusters"`
	Driver      Driver    `json:"driver"`
}

// Backend is the kind of object that a run is rendered to.
type Backend string

// The backends.
const (
	// BackendJobSet is one JobSet for the whole run.
	BackendJobSet Backend = "jobset"
	// BackendRayCluster is a RayCluster for each cluster and a Job for the driver.
	BackendRayCluster Backend = "raycluster"
	// BackendRayJob is a RayJob for the driver and its cluster, and a RayCluster for each other cluster.
	BackendRayJob Backend = "rayjob"
)

// OnKubeRay tells whether KubeRay makes the pods.
func (b Backend) OnKubeRay() bool { return b == BackendRayCluster || b == BackendRayJob }

// DriverHasPod tells whether a pod submits the driver; KubeRay submits that of a RayJob itself.
func (b Backend) DriverHasPod() bool { return b != BackendRayJob }

// Failure says what happens when a part of the run fails.
type Failure struct {
	// OnPeerFailure is what happens when a cluster fails: cascade (default) takes every cluster down, restart starts all of them
	// again, signal only reports the error to the registry, ignore does nothing. The driver's end ends the run in any case. A JobSet
	// knows cascade and restart only.
	OnPeerFailure OnPeerFailure `json:"onPeerFailure,omitempty"`
	// MaxRestarts is how often restart starts the clusters again before the run fails; needed by restart.
	MaxRestarts int32 `json:"maxRestarts,omitempty"`
	// OnSuspend is what a suspended cluster means to the others: wait (default) until it is resumed, follow by being suspended too, or
	// fail. Not for the jobset backend.
	OnSuspend OnSuspend `json:"onSuspend,omitempty"`
	// StartupGrace bounds every wait at start; a peer that has not appeared within it counts as failed. Default 20m.
	StartupGrace metav1.Duration `json:"startupGrace,omitempty"`
	// UnreadyGrace is how long a head may be unready before it counts as failed. Default 2m.
	UnreadyGrace metav1.Duration `json:"unreadyGrace,omitempty"`
}

// Restarts is how often the clusters may be started again.
func (f *Failure) Restarts() int32 {
	if f.OnPeerFailure != PeerFailureRestart {
		return 0
	}
	return f.MaxRestarts
}

// OnPeerFailure is a reaction to the failure of a peer.
type OnPeerFailure string

// The reactions to the failure of a peer. They are what peerwatch's --policy is called.
const (
	// PeerFailureCascade takes the whole run down.
	PeerFailureCascade OnPeerFailure = "cascade"
	// PeerFailureRestart starts all clusters again, maxRestarts times at most, then takes the run down.
	PeerFailureRestart OnPeerFailure = "restart"
	// PeerFailureSignal reports the failure to the registry, where everybody who waits sees it, and deletes nothing.
	PeerFailureSignal OnPeerFailure = "signal"
	// PeerFailureIgnore does nothing.
	PeerFailureIgnore OnPeerFailure = "ignore"
)

// OnSuspend is what a suspended cluster means.
type OnSuspend string

// The meanings of a suspension. They are what peerwatch's --suspended is called.
const (
	// SuspendWait waits until it is resumed.
	SuspendWait OnSuspend = "wait"
	// SuspendFollow suspends the others too, and resumes them with it.
	SuspendFollow OnSuspend = "follow"
	// SuspendFail takes the run down.
	SuspendFail OnSuspend = "fail"
)

// Cluster is one Ray cluster of the run. The pod settings in it are those of all its pods.
type Cluster struct {
	// Name of the cluster, unique in the run: rl, gym, generation, or any other.
	Name string `json:"name"`
	// Ports are Ray's own ports on the head.
	Ports       RayPorts `json:"ports,omitempty"`
	PodSettings `json:",inline"`
	// Autoscaler sets Ray's autoscaler for clusters with autoscaling worker groups.
	Autoscaler *Autoscaler   `json:"autoscaler,omitempty"`
	Head       Group         `json:"head,omitempty"`
	Workers    []WorkerGroup `json:"workers,omitempty"`
	// Publish lists the endpoints that pods of this cluster put into the registry.
	Publish []Publish `json:"publish,omitempty"`
}

// Autoscales tells whether Ray's autoscaler changes the size of the cluster.
func (c *Cluster) Autoscales() bool {
	return slices.ContainsFunc(c.Workers, func(w WorkerGroup) bool { return w.Autoscales() })
}

// Autoscaler is how Ray's autoscaler behaves; what is left out is KubeRay's default.
type Autoscaler struct {
	// Version is v1 or v2.
	Version string `json:"version,omitempty"`
	// UpscalingMode is Default, Aggressive or Conservative.
	UpscalingMode string `json:"upscalingMode,omitempty"`
	// IdleTimeout is how long a worker is idle before it goes; whole seconds.
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
}

// RayPorts are the ports a Ray head listens on.
type RayPorts struct {
	// GCS is where Ray's nodes find their cluster.
	GCS int32 `json:"gcs,omitempty"`
	// Dashboard serves the dashboard and takes jobs.
	Dashboard int32 `json:"dashboard,omitempty"`
	// Client is for Ray Client.
	Client int32 `json:"client,omitempty"`
}

// Group is pods of one shape.
type Group struct {
	// Image is another image than the run's for the Ray container of these pods.
	Image string `json:"image,omitempty"`
	// Command runs beside `ray start`; the first of the two that ends, ends the container. Without it the pod is a plain Ray node.
	Command []string `json:"command,omitempty"`
	// Setup is a shell script that runs in the Ray container before `ray start`; what it exports, Ray and the command inherit.
	Setup string `json:"setup,omitempty"`
	// GPUs of one pod: nvidia.com/gpu in requests and limits, and Ray's num-gpus.
	GPUs int32 `json:"gpus,omitempty"`
	// Resources are the requests of the Ray container. Extended resources such as rdma/hca or vpc.amazonaws.com/efa become limits too.
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Limits of the Ray container; default none, but those of the resources that must have one.
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// Claims are names of the run's claims that each pod gets.
	Claims []string `json:"claims,omitempty"`
	// Ports are further container ports, by name.
	Ports map[string]int32 `json:"ports,omitempty"`
	// RayStartParams are further flags of `ray start`, without the dashes.
	RayStartParams map[string]string `json:"rayStartParams,omitempty"`
	// PodSettings win over those of the cluster and the run.
	PodSettings `json:",inline"`
}

// WorkerGroup is a named group with a number of pods.
type WorkerGroup struct {
	// Name of the group, unique in its cluster.
	Name string `json:"name"`
	// Replicas is the number of pods; default 1. Of an autoscaling group it is the number at start.
	Replicas *int32 `json:"replicas,omitempty"`
	// MinReplicas and MaxReplicas let Ray's autoscaler change the number of pods between them. Both or neither; KubeRay's backends only.
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// SegmentSize splits a group of N pods into N/segmentSize groups, each of which the scheduler places as one: for NVLink domains.
	SegmentSize int32 `json:"segmentSize,omitempty"`
	Group       `json:",inline"`
}

// Pods is the number of pods of the group.
func (w *WorkerGroup) Pods() int32 {
	if w.Replicas == nil {
		return 1
	}
	return *w.Replicas
}

// Autoscales tells whether Ray's autoscaler changes the number of pods.
func (w *WorkerGroup) Autoscales() bool { return w.MinReplicas != nil || w.MaxReplicas != nil }

// Publish is one endpoint that pods of a group put into the registry.
type Publish struct {
	// Key of the endpoint in the run's ConfigMap.
	Key string `json:"key"`
	// Group is the group whose pods publish. Default: head, or every worker group when Member is set.
	Group string `json:"group,omitempty"`
	// Member joins the URL into a JSON list instead of setting the key, for keys that many pods share.
	Member bool `json:"member,omitempty"`
	// URL is a fixed address; $(POD_IP) and the like are expanded in the pod.
	URL string `json:"url,omitempty"`
	// File is a name in /run/tandem/publish into which the app writes its URL once it knows it.
	File string `json:"file,omitempty"`
	// When holds the endpoint back until the condition is met. Default: none, but that of gym_head_server waits for the server's
	// /global_config_dict_yaml.
	When *Condition `json:"when,omitempty"`
}

// Condition is what must hold before an endpoint is published.
type Condition struct {
	HTTPGet *HTTPGet `json:"httpGet,omitempty"`
}

// HTTPGet holds when a GET on the pod answers 2xx.
type HTTPGet struct {
	// Port may be omitted with file: the port of the published URL is asked.
	Port int32 `json:"port,omitempty"`
	// Path that is asked for, beginning with /.
	Path string `json:"path"`
}

// Driver is the process whose exit ends the run. It is submitted as a Ray job to the head of Cluster.
type Driver struct {
	// Cluster is the one whose head runs the driver.
	Cluster string `json:"cluster"`
	// Command is run as it stands here, without a shell; $(TANDEM_RUN) and the like are expanded.
	Command []string `json:"command"`
	// Env are variables of the driver's process, besides those of the head that it runs in. Its Ray tasks and actors do not inherit
	// them. They are part of the job's command line, which Ray's dashboard shows, so only plain values are taken.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// Resources are the requests of the pod that submits the driver and follows its log. The driver itself runs in the head's pod.
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Limits of the same pod; default none.
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// ActiveDeadline is how long the driver may run in all, waits and retries included; then the run fails. Default: no limit.
	ActiveDeadline *metav1.Duration `json:"activeDeadline,omitempty"`
	// Retries is how often a driver that failed is submitted again; default 0.
	Retries int32 `json:"retries,omitempty"`
	// PodTemplate is merged into the pod that submits the driver, whose container is called driver.
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
}
