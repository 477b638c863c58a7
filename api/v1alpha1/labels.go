package v1alpha1

// Labels on every object and pod of a run.
const (
	// LabelRun holds the run's name: `kubectl get all -l tandem.dev/run=x` shows what belongs to it, `tandem down` deletes by it.
	LabelRun = "tandem.dev/run"
	// LabelCluster and LabelGroup say which part of the run an object or pod is.
	LabelCluster = "tandem.dev/cluster"
	LabelGroup   = "tandem.dev/group"
	// LabelOwner holds the user whose run it is.
	LabelOwner = "tandem.dev/owner"
	// LabelBackend is on the run's ConfigMap, so that a run is understood without its file.
	LabelBackend = "tandem.dev/backend"

	// LabelRegistryShard is on the shards of a run's registry; its value is the shard's number.
	LabelRegistryShard = "tandem.dev/registry-shard"

	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "tandem"

	// LabelKAIQueue is where KAI reads the queue from: the top owner first, then the pod.
	LabelKAIQueue = "kai.scheduler/queue"
)

// Values of LabelGroup that are not the name of a worker group.
const (
	GroupHead   = "head"
	GroupDriver = "driver"
)

// FieldManager owns the fields that tandem applies.
const FieldManager = "tandem"

// AnnotationRemoving is put on the run's ConfigMap before anything of the run is removed; its value is when (RFC 3339). From then on
// nothing that goes away is a failure. Package peerwatch has the key too.
const AnnotationRemoving = "tandem.dev/removing"

// AnnotationRegistryShards of the run's ConfigMap is the number of its shards, for tools that write to the registry. Package registry
// has the key too.
const AnnotationRegistryShards = "tandem.dev/registry-shards"

// AnnotationOnPeerFailure of the run's ConfigMap is failure.onPeerFailure, where that is not cascade: a reported error is then not always
// the end.
const AnnotationOnPeerFailure = "tandem.dev/on-peer-failure"

// ErrorKey of the run's ConfigMap is non-empty once the run has failed.
const ErrorKey = "error"

// KeyGymHead is the key under which NeMo-RL looks for NeMo Gym's head server.
const KeyGymHead = "gym_head_server"

// Environment of every container of a run, declared first so that commands, arguments and later variables may refer to it.
const (
	EnvRun       = "TANDEM_RUN"
	EnvNamespace = "TANDEM_NAMESPACE"
	EnvPodIP     = "POD_IP"
	EnvPodName   = "POD_NAME"
	// EnvPodUID is in the sidecars only, which write it beside what they publish.
	EnvPodUID = "POD_UID"
	// EnvRegistry is the registry's address in the user containers of pods that have the registry sidecar.
	EnvRegistry = "TANDEM_REGISTRY"

	// EnvIncarnation is which attempt of the run a registry sidecar belongs to, where runs are started again.
	EnvIncarnation = "TANDEM_INCARNATION"

	// The bounds of the run's port ranges, in the Ray containers of runs that have them.
	EnvGenerationPortLow  = "TANDEM_GENERATION_PORT_LOW"
	EnvGenerationPortHigh = "TANDEM_GENERATION_PORT_HIGH"
	EnvGymPortLow         = "TANDEM_GYM_PORT_LOW"
	EnvGymPortHigh        = "TANDEM_GYM_PORT_HIGH"

	// Ray's own variables for token authentication (Ray 2.52).
	EnvRayAuthMode  = "RAY_AUTH_MODE"
	EnvRayAuthToken = "RAY_AUTH_TOKEN"
)

// PublishDir is shared by the Ray container, which writes URLs into files here, and the registry sidecar.
const PublishDir = "/run/tandem/publish"

// Ports that tandem and Ray take in a pod besides those of the Run file.
const (
	RegistryPort    int32 = 9440  // the registry sidecar, on loopback
	PeerwatchPort   int32 = 9441  // the peerwatch sidecar of heads, on loopback
	MetricsPort     int32 = 8080  // Ray's Prometheus metrics; KubeRay's default, used by both backends
	RayAgentPort    int32 = 52365 // Ray's dashboard agent, which the probes ask
	RegistryAddr          = "127.0.0.1:9440"
	PeerwatchAddr         = "127.0.0.1:9441"
	RegistryURL           = "http://" + RegistryAddr
	PortNameGCS           = "gcs-server"
	PortNameDash          = "dashboard"
	PortNameClient        = "client"
	PortNameMetrics       = "metrics"
)
