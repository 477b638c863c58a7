package importer

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// jobIDVariable is how NeMo-RL's generation server hears of the job id.
const jobIDVariable = "DISAGG_JOB_ID"

// runName is expanded by Kubernetes in commands and variables.
const runName = "$(" + v1alpha1.EnvRun + ")"

// readEnv takes the variables. What the driver's pod has is that of its process.
func (p *part) readEnv(container node) {
	for _, variable := range container.at("env").items() {
		name, _ := variable.at("name").value.(string)
		if reason := ownVariable(name); reason != "" {
			variable.drop(reason)
		}
		if variable.isRead() {
			continue
		}
		var one corev1.EnvVar
		variable.into(&one)
		if name == jobIDVariable && one.Value != runName {
			variable.at("value").dropPart(one.Value, ownJobID)
			one.Value = runName
		}
		p.group.Env = append(p.group.Env, one)
	}
	container.at("env").take()
	container.at("envFrom").into(&p.group.EnvFrom)
}

// ownJobID is the reason why a job id is replaced.
const ownJobID = "the job id is the run's name: " + runName

// ownVariable says why a variable is not the user's; it is empty where it is.
func ownVariable(name string) string {
	switch name {
	case v1alpha1.EnvRun, v1alpha1.EnvNamespace, v1alpha1.EnvPodIP, v1alpha1.EnvPodName, v1alpha1.EnvRegistry:
		return ownEnv
	case "RAY_CLUSTER_NAME":
		return "it names the owner of the endpoint registry, which tandem makes and owns"
	}
	return ""
}

// dropVariable drops one that tandem sets to the same.
func dropVariable(container node, name, value string) {
	for _, variable := range container.at("env").items() {
		if variable.at("name").value == name && variable.at("value").value == value {
			variable.drop(ownEnv)
		}
	}
}

// readResources takes requests and limits of the Ray container, and GPUs apart.
func (p *part) readResources(resources node) {
	requests, requested := resources.at("requests").resources()
	limits, limited := resources.at("limits").resources()
	p.group.Resources, p.group.Limits, p.group.GPUs = requests, limits, limited
	if p.isDriver() {
		for _, list := range []string{"requests", "limits"} {
			if gpu := resources.at(list, resourceGPU); gpu.there {
				gpu.dropPart(fmt.Sprint(gpu.value), "the pod of the driver only submits; the driver runs in the head")
			}
		}
		return
	}
	if requested != limited {
		gpu := resources.at("requests", resourceGPU)
		switch {
		case limited == 0:
			p.group.GPUs = requested
		case gpu.there:
			gpu.dropPart("request", "Kubernetes wants as many GPUs requested as are the limit")
		}
	}
}

// readVolumes takes volumes with the places where the first container sees them. Those that it does not see, and mounts of a kind that
// the Run has no field for, are kept.
func (p *part) readVolumes(spec, container node) {
	if p.isDriver() {
		return
	}
	mounts := container.at("volumeMounts")
	var further []any
	for _, volume := range spec.at("volumes").items() {
		name, _ := volume.at("name").value.(string)
		if name == "" || !hasSimpleMount(mounts, name) {
			volume.dropUnknown(reflect.TypeFor[corev1.Volume]())
			further = append(further, volume.unread(true))
			continue
		}
		one := v1alpha1.Volume{Name: volume.at("name").text()}
		volume.into(&one.VolumeSource)
		one.Mounts = takeMounts(mounts, name)
		p.group.Volumes = append(p.group.Volumes, one)
	}
	p.overlay.add("volumes", further...)
	p.keepMounts(mounts)
}

func hasSimpleMount(mounts node, volume string) bool {
	return slices.ContainsFunc(mounts.items(), func(mount node) bool { return isSimpleMount(mount, volume) })
}

// isSimpleMount: the Run has fields for all of it.
func isSimpleMount(mount node, volume string) bool {
	if mount.at("name").value != volume {
		return false
	}
	return !slices.ContainsFunc(mount.keys(), func(key string) bool {
		return !slices.Contains([]string{"name", "mountPath", "subPath", "readOnly"}, key)
	})
}

func takeMounts(mounts node, volume string) []v1alpha1.Mount {
	var out []v1alpha1.Mount
	for _, mount := range mounts.items() {
		if isSimpleMount(mount, volume) {
			mount.at("name").take()
			out = append(out, v1alpha1.Mount{
				Path: mount.at("mountPath").text(), SubPath: mount.at("subPath").text(), ReadOnly: mount.at("readOnly").truth(),
			})
		}
	}
	return out
}

func (p *part) keepMounts(mounts node) {
	var kept []any
	for _, mount := range mounts.items() {
		if !mount.isRead() {
			mount.dropUnknown(reflect.TypeFor[corev1.VolumeMount]())
			kept = append(kept, mount.unread(true))
		}
	}
	if len(kept) > 0 {
		p.overlay.addToContainer(p.container(), map[string]any{"volumeMounts": kept})
	}
}
