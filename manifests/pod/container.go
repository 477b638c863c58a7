package pod

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Names of the containers of a run, as `kubectl logs -c` takes them.
const (
	RayContainer       = "ray"
	DriverContainer    = "driver"
	RegistryContainer  = "registry"
	PeerwatchContainer = "peerwatch"
)

// rayContainer is containers[0] of a head or worker.
func (g Group) rayContainer() *corev1ac.ContainerApplyConfiguration {
	return userContainer(g.Run, RayContainer, g.Spec.Image).
		WithCommand(startCommand()...).
		WithArgs(g.startArgs()...).
		WithEnv(g.env()...).
		WithPorts(g.ports()...).
		WithEnvFrom(g.envFrom()...).
		WithResources(resources(g.Spec.Resources, g.Spec.Limits, g.Spec.GPUs).WithClaims(g.containerClaims()...)).
		WithVolumeMounts(g.rayMounts()...).
		WithReadinessProbe(g.readiness()).
		WithLivenessProbe(g.liveness())
}

// userContainer runs the trainer image, or another where the group names one.
func userContainer(run *v1alpha1.Run, name, image string) *corev1ac.ContainerApplyConfiguration {
	if image == "" {
		image = run.Spec.Image
	}
	container := withPullPolicy(run, corev1ac.Container().WithName(name).WithImage(image))
	if run.Spec.Code != nil && name == RayContainer {
		container.WithWorkingDir(run.Spec.Code.Path)
	}
	return container
}

func withPullPolicy(run *v1alpha1.Run, c *corev1ac.ContainerApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
	if run.Spec.ImagePullPolicy != "" {
		c.WithImagePullPolicy(run.Spec.ImagePullPolicy)
	}
	return c
}

// ports lists Ray's ports under the names by which KubeRay looks for them, then those of the file.
func (g Group) ports() []*corev1ac.ContainerPortApplyConfiguration {
	var out []*corev1ac.ContainerPortApplyConfiguration
	if g.isHead() {
		out = append(out,
			port(v1alpha1.PortNameGCS, g.Cluster.Ports.GCS),
			port(v1alpha1.PortNameDash, g.Cluster.Ports.Dashboard),
			port(v1alpha1.PortNameClient, g.Cluster.Ports.Client))
	}
	out = append(out, port(v1alpha1.PortNameMetrics, v1alpha1.MetricsPort))
	for _, name := range slices.Sorted(maps.Keys(g.Spec.Ports)) {
		out = append(out, port(name, g.Spec.Ports[name]))
	}
	return out
}

func port(name string, number int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithContainerPort(number).WithProtocol(corev1.ProtocolTCP)
}

func resources(requests, limits corev1.ResourceList, gpus int32) *corev1ac.ResourceRequirementsApplyConfiguration {
	requests, limits = withGPUs(requests, gpus), withGPUs(withExtended(limits, requests), gpus)
	out := corev1ac.ResourceRequirements()
	if len(requests) > 0 {
		out.WithRequests(requests)
	}
	if len(limits) > 0 {
		out.WithLimits(limits)
	}
	return out
}

// withExtended makes limits of the requests for extended resources: Kubernetes wants the two to be equal.
func withExtended(limits, requests corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(limits)
	for name, quantity := range requests {
		if !v1alpha1.IsExtendedResource(name) {
			continue
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[name] = quantity
	}
	return out
}

func withGPUs(list corev1.ResourceList, gpus int32) corev1.ResourceList {
	out := maps.Clone(list)
	if gpus == 0 {
		return out
	}
	if out == nil {
		out = corev1.ResourceList{}
	}
	out[v1alpha1.ResourceGPU] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	return out
}

// readiness and liveness ask Ray over HTTP what KubeRay's own probes ask with bash, wget and grep in the container. KubeRay leaves
// probes alone that are set, so that both backends behave the same and the image needs none of the three.
func (g Group) readiness() *corev1ac.ProbeApplyConfiguration {
	return g.probe().WithPeriodSeconds(5).WithTimeoutSeconds(5).WithFailureThreshold(10)
}

// liveness gives Ray ten minutes: it is for a node that hangs, a node that ends ends its container.
func (g Group) liveness() *corev1ac.ProbeApplyConfiguration {
	return g.probe().WithPeriodSeconds(5).WithTimeoutSeconds(5).WithFailureThreshold(120).WithInitialDelaySeconds(30)
}

func (g Group) probe() *corev1ac.ProbeApplyConfiguration {
	path, number := "/api/local_raylet_healthz", v1alpha1.RayAgentPort
	if g.isHead() {
		path, number = "/api/gcs_healthz", g.Cluster.Ports.Dashboard
	}
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromInt32(number)))
}
