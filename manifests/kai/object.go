package kai

// Metadata is what the builders set of an object's metadata. KAI's own Go types are not used: they would bring its whole module.
type Metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	OwnerReferences []OwnerReference  `json:"ownerReferences,omitempty"`
}

// OwnerReference is read only: a PodGroup over several owners has none and is deleted by name.
type OwnerReference struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// Groups and kinds of KAI's objects.
const (
	GroupScheduling = "scheduling.run.ai"
	GroupKAI        = "kai.scheduler"

	podGroupVersion = GroupScheduling + "/v2alpha2"
	queueVersion    = GroupScheduling + "/v2"
	topologyVersion = GroupKAI + "/v1alpha1"

	kindPodGroup = "PodGroup"
	kindQueue    = "Queue"
	kindTopology = "Topology"
)
