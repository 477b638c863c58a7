package v1alpha1

// Claim is devices that the pods of a group get by dynamic resource allocation. Exactly one of the three sources is set.
type Claim struct {
	// Name by which groups refer to it.
	Name string `json:"name"`
	// ComputeDomain is NVIDIA's: pods of it share memory over NVLink.
	ComputeDomain *ComputeDomain `json:"computeDomain,omitempty"`
	// Devices makes a ResourceClaimTemplate.
	Devices *DeviceClaim `json:"devices,omitempty"`
	// ResourceClaimTemplate is the name of one that exists.
	ResourceClaimTemplate string `json:"resourceClaimTemplate,omitempty"`
	// Shared makes one object for all clusters instead of one for each: one NVLink domain over the whole run.
	Shared bool `json:"shared,omitempty"`
}

// ComputeDomain is made for the run; its driver makes the ResourceClaimTemplate.
type ComputeDomain struct {
	// NumNodes that must have joined before pods start; 0 (default) lets them start at once.
	NumNodes int32 `json:"numNodes,omitempty"`
	// APIVersion of the driver's objects.
	APIVersion string `json:"apiVersion,omitempty"`
}

// DeviceClaim is a number of devices of a class for each pod.
type DeviceClaim struct {
	// DeviceClass is the class that the devices are of; it must exist in the cluster.
	DeviceClass string `json:"deviceClass"`
	// Count of devices; default 1.
	Count int64 `json:"count,omitempty"`
	// APIVersion of the ResourceClaimTemplate.
	APIVersion string `json:"apiVersion,omitempty"`
}
