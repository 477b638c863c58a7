package pod

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// registrySidecar serves the run's endpoints to the pod on loopback and publishes those of the group.
//
// It is a native sidecar: up before the Ray container, stopped after it, and no reason for a Job to go on. It has no probe: the
// kubelet asks from outside the pod and cannot reach a listener on loopback, and the image holds no shell to ask from inside.
// Nothing depends on its readiness either; a client that is early is refused for the moment it takes to listen and tries again.
func (g Group) registrySidecar() *corev1ac.ContainerApplyConfiguration {
	args := []string{
		"serve", "--run", g.Run.Metadata.Name, "--namespace", g.Run.Metadata.Namespace,
		"--listen", v1alpha1.RegistryAddr,
	}
	args = append(args, g.shardArgs()...)
	for _, p := range g.Cluster.PublishedBy(g.Name) {
		args = append(args, publishArgs(p)...)
	}
	sidecar := g.sidecar(RegistryContainer, "/registry").WithArgs(args...).WithEnv(g.attempt()...)
	if g.publishesFiles() {
		sidecar.WithVolumeMounts(mount(publishVolume, v1alpha1.PublishDir).WithReadOnly(true))
	}
	return sidecar
}

// shardArgs are for runs with many publishers. One place folds: the head whose end ends the run.
func (g Group) shardArgs() []string {
	shards := g.Run.RegistryShards()
	if shards == 0 {
		return nil
	}
	args := []string{"--shards", strconv.Itoa(shards)}
	if g.isDriverHead() {
		args = append(args, "--fold")
	}
	return args
}

// publishArgs tells the registry what to publish and when.
func publishArgs(p v1alpha1.Publish) []string {
	flag, source := "--publish", p.URL
	if p.Member {
		flag += "-member"
	}
	if p.File != "" {
		flag, source = flag+"-from-file", v1alpha1.PublishDir+"/"+p.File
	}
	args := []string{flag, p.Key + "=" + source}
	if p.When != nil && p.When.HTTPGet != nil {
		args = append(args, "--when-http", p.Key+"="+conditionURL(p.When.HTTPGet))
	}
	return args
}

// conditionURL is asked from inside the pod. A bare path is resolved against the published URL.
func conditionURL(get *v1alpha1.HTTPGet) string {
	if get.Port == 0 {
		return get.Path
	}
	return fmt.Sprintf("http://$(%s):%d%s", v1alpha1.EnvPodIP, get.Port, get.Path)
}

// peerwatchSidecar takes the run down when one of its clusters fails, or when the driver has ended.
func (g Group) peerwatchSidecar() *corev1ac.ContainerApplyConfiguration {
	run, failure := g.Run.Metadata.Name, g.Run.Spec.Failure
	args := []string{"--run", run, "--namespace", g.Run.Metadata.Namespace, "--self", g.watched(g.Cluster)}
	for i := range g.Run.Spec.Clusters {
		if peer := &g.Run.Spec.Clusters[i]; peer.Name != g.Cluster.Name {
			args = append(args, "--peer", g.watched(peer))
		}
	}
	args = append(args,
		"--driver", g.watchedDriver(),
		"--startup-grace", failure.StartupGrace.Duration.String(),
		"--unready-grace", failure.UnreadyGrace.Duration.String(),
		"--policy", string(failure.OnPeerFailure),
		"--suspended", string(failure.OnSuspend),
		"--listen", v1alpha1.PeerwatchAddr)
	if restarts := failure.Restarts(); restarts > 0 {
		args = append(args, "--max-restarts", decimal(restarts), "--shards", strconv.Itoa(g.Run.RegistryShards()))
	}
	return g.sidecar(PeerwatchContainer, "/peerwatch").WithArgs(args...)
}

// watched is the object of a cluster as peerwatch names it.
func (g Group) watched(cluster *v1alpha1.Cluster) string {
	if g.Run.InRayJob(cluster) {
		return "rayjob/" + v1alpha1.RayJobName(g.Run.Metadata.Name)
	}
	return "raycluster/" + v1alpha1.RayClusterName(g.Run.Metadata.Name, cluster.Name)
}

func (g Group) watchedDriver() string {
	if g.Run.Spec.Backend.DriverHasPod() {
		return "job/" + v1alpha1.DriverJobName(g.Run.Metadata.Name)
	}
	return "rayjob/" + v1alpha1.RayJobName(g.Run.Metadata.Name)
}

// sidecar is a native sidecar with an API token.
func (g Group) sidecar(name, binary string) *corev1ac.ContainerApplyConfiguration {
	return sidecarContainer(g.Run, name, binary).
		WithRestartPolicy(corev1.ContainerRestartPolicyAlways).
		WithEnv(append(baseEnv(g.Run), fromField(v1alpha1.EnvPodUID, "metadata.uid"))...).
		WithVolumeMounts(mount(tokenVolume, tokenDir).WithReadOnly(true))
}

// waitForTCP is an init container that ends once an address accepts connections, or fails at the end of the startup grace.
func waitForTCP(run *v1alpha1.Run, name, address string) *corev1ac.ContainerApplyConfiguration {
	return waitFor(run, name, "--tcp", address)
}

// waitForHTTP is waitForTCP for a URL that must answer 2xx.
func waitForHTTP(run *v1alpha1.Run, name, url string) *corev1ac.ContainerApplyConfiguration {
	return waitFor(run, name, "--http", url)
}

func waitFor(run *v1alpha1.Run, name, flag, target string) *corev1ac.ContainerApplyConfiguration {
	return sidecarContainer(run, name, "/registry").
		WithArgs("wait", flag, target, "--timeout", run.Spec.Failure.StartupGrace.Duration.String()).
		WithEnv(baseEnv(run)...)
}

// sidecarContainer runs a binary of the sidecar image with the rights that the restricted Pod Security Standard allows.
func sidecarContainer(run *v1alpha1.Run, name, binary string) *corev1ac.ContainerApplyConfiguration {
	return withPullPolicy(run, corev1ac.Container().WithName(name).WithImage(run.Spec.SidecarImage)).
		WithCommand(binary).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")}).
			WithLimits(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("128Mi")})).
		WithSecurityContext(corev1ac.SecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(65532).
			WithRunAsGroup(65532).
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)))
}
