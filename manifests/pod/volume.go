package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

const (
	codeVolume    = "tandem-code"
	publishVolume = "tandem-publish"
	tokenVolume   = "tandem-token"
	shmVolume     = "tandem-shm"

	// tokenDir is where client-go looks for the credentials of a pod.
	tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is how long a token lives; the kubelet renews it at four fifths.
	tokenSeconds = 3607
)

// volumes of the pod. KubeRay adds /dev/shm itself, with a limit that follows the container's memory.
func (g Group) volumes() []*corev1ac.VolumeApplyConfiguration {
	var out []*corev1ac.VolumeApplyConfiguration
	if !g.onKubeRay() && !g.mounts("/dev/shm") {
		out = append(out, corev1ac.Volume().WithName(shmVolume).WithEmptyDir(
			corev1ac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory)))
	}
	if g.publishesFiles() {
		out = append(out, corev1ac.Volume().WithName(publishVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	}
	if g.hasRegistry() {
		out = append(out, apiToken())
	}
	out = append(out, g.codeVolumes()...)
	for i := range g.settings.Volumes {
		volume := g.settings.Volumes[i]
		ac := &corev1ac.VolumeApplyConfiguration{}
		mustConvert(corev1.Volume{Name: volume.Name, VolumeSource: volume.VolumeSource}, ac)
		out = append(out, ac)
	}
	return out
}

// mounts tells whether the file mounts something there.
func (g Group) mounts(path string) bool {
	return slices.ContainsFunc(g.settings.Volumes, func(v v1alpha1.Volume) bool {
		return slices.ContainsFunc(v.Mounts, func(m v1alpha1.Mount) bool { return m.Path == path })
	})
}

// rayMounts never hold the token.
func (g Group) rayMounts() []*corev1ac.VolumeMountApplyConfiguration {
	var out []*corev1ac.VolumeMountApplyConfiguration
	if !g.onKubeRay() && !g.mounts("/dev/shm") {
		out = append(out, mount(shmVolume, "/dev/shm"))
	}
	if g.publishesFiles() {
		out = append(out, mount(publishVolume, v1alpha1.PublishDir))
	}
	out = append(out, g.codeMounts()...)
	for _, volume := range g.settings.Volumes {
		for _, m := range volume.Mounts {
			out = append(out, placed(volume.Name, m))
		}
	}
	return out
}

func placed(volume string, m v1alpha1.Mount) *corev1ac.VolumeMountApplyConfiguration {
	out := mount(volume, m.Path)
	if m.SubPath != "" {
		out.WithSubPath(m.SubPath)
	}
	if m.ReadOnly {
		out.WithReadOnly(true)
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

// TokenMount is where a container of a head finds the API token.
func TokenMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: tokenVolume, MountPath: tokenDir, ReadOnly: true}
}
