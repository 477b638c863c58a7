package pod

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

const (
	publishVolume = "tandem-publish"
	tokenVolume   = "tandem-token"
	shmVolume     = "dshm"

	// tokenDir is where client-go looks for the credentials of a pod.
	tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is how long a token lives; the kubelet renews it at four fifths.
	tokenSeconds = 3607
)

// volumes of the pod. KubeRay adds /dev/shm itself, with a limit that follows the container's memory.
func (g Group) volumes() []*corev1ac.VolumeApplyConfiguration {
	var out []*corev1ac.VolumeApplyConfiguration
	if !g.isRayCluster() {
		out = append(out, corev1ac.Volume().WithName(shmVolume).WithEmptyDir(
			corev1ac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory)))
	}
	if g.publishesFiles() {
		out = append(out, corev1ac.Volume().WithName(publishVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	}
	if g.hasRegistry() {
		out = append(out, apiToken())
	}
	return out
}

// rayMounts never hold the token.
func (g Group) rayMounts() []*corev1ac.VolumeMountApplyConfiguration {
	var out []*corev1ac.VolumeMountApplyConfiguration
	if !g.isRayCluster() {
		out = append(out, mount(shmVolume, "/dev/shm"))
	}
	if g.publishesFiles() {
		out = append(out, mount(publishVolume, v1alpha1.PublishDir))
	}
	return out
}

func mount(volume, path string) *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(volume).WithMountPath(path)
}

// apiToken holds what Kubernetes would mount into every container by itself: token, CA and namespace.
func apiToken() *corev1ac.VolumeApplyConfiguration {
	token := corev1ac.VolumeProjection().WithServiceAccountToken(
		corev1ac.ServiceAccountTokenProjection().WithPath("token").WithExpirationSeconds(tokenSeconds))
	ca := corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().
		WithName("kube-root-ca.crt").WithItems(corev1ac.KeyToPath().WithKey("ca.crt").WithPath("ca.crt")))
	namespace := corev1ac.VolumeProjection().WithDownwardAPI(corev1ac.DownwardAPIProjection().WithItems(
		corev1ac.DownwardAPIVolumeFile().WithPath("namespace").WithFieldRef(
			corev1ac.ObjectFieldSelector().WithFieldPath("metadata.namespace"))))
	return corev1ac.Volume().WithName(tokenVolume).WithProjected(
		corev1ac.ProjectedVolumeSource().WithSources(token, ca, namespace))
}
