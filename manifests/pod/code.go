package pod

import (
	_ "embed"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

//go:embed fetch.sh
var fetchScript string

// FetchContainer is the init container that fetches the code.
const FetchContainer = "fetch-code"

// fetchCode is the init container of a run whose code is in git; it runs as what the image runs as, so that the code can be read.
func (g Group) fetchCode() []*corev1ac.ContainerApplyConfiguration {
	code := g.Run.Spec.Code
	if code == nil || code.Git == nil {
		return nil
	}
	git := code.Git
	image := git.Image
	if image == "" {
		image = g.Spec.Image
	}
	container := userContainer(g.Run, FetchContainer, image).
		WithCommand("/bin/sh", "-c", fetchScript, "tandem-fetch").
		WithArgs(git.URL, git.Commit, code.Path).
		WithEnv(baseEnv(g.Run)...).
		WithVolumeMounts(mount(codeVolume, code.Path))
	if git.Token != nil {
		container.WithEnv(fromSecret("TANDEM_GIT_TOKEN", git.Token))
	}
	return []*corev1ac.ContainerApplyConfiguration{container}
}

func (g Group) codeVolumes() []*corev1ac.VolumeApplyConfiguration {
	switch code := g.Run.Spec.Code; {
	case code == nil:
		return nil
	case code.Git != nil:
		return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(codeVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource())}
	default:
		claim := corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(code.PersistentVolumeClaim.ClaimName)
		return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(codeVolume).WithPersistentVolumeClaim(claim)}
	}
}

func (g Group) codeMounts() []*corev1ac.VolumeMountApplyConfiguration {
	code := g.Run.Spec.Code
	if code == nil {
		return nil
	}
	m := v1alpha1.Mount{Path: code.Path}
	if code.PersistentVolumeClaim != nil {
		m.SubPath = code.PersistentVolumeClaim.SubPath
	}
	return []*corev1ac.VolumeMountApplyConfiguration{placed(codeVolume, m)}
}
