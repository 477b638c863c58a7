package importer

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Reasons that several fields share.
const (
	ownName       = "tandem names what it makes after the run, the cluster and the group"
	ownAccount    = "tandem makes an account for the run that may use the run's own objects and no others; only sidecars get its token"
	ownWait       = "tandem waits for the head itself, with a deadline (failure.startupGrace)"
	ownWatch      = "tandem watches the other clusters itself (failure.onPeerFailure)"
	ownRestart    = "the backend decides whether pods restart"
	ownPort       = "Ray's ports are those of the cluster (clusters[].ports)"
	ownProbe      = "tandem's own probes ask Ray over HTTP, without starting a Python each time"
	ownMetadata   = "tandem names and labels pods itself"
	ownEnv        = "tandem sets this variable"
	ownCommand    = "tandem starts Ray itself and takes the rest of the command apart (setup, rayStartParams, command)"
	ownAutoscaler = "tandem sets it from minReplicas and maxReplicas of the worker groups"
)

// resourceGPU is what `gpus` of a group asks for.
const resourceGPU = string(v1alpha1.ResourceGPU)

// readPod reads a pod template. What the first container runs is read by command.
func (m *maker) readPod(p *part, template node, command func(container node)) {
	m.readMetadata(p, template.at("metadata"))
	spec := template.at("spec")
	p.scheduler = placeOf(spec.at("schedulerName"))
	p.priority = placeOf(spec.at("priorityClassName"))
	for _, secret := range spec.at("imagePullSecrets").items() {
		p.pullSecrets = append(p.pullSecrets, secret.at("name").text())
	}
	spec.at("serviceAccountName").drop(ownAccount)
	spec.at("serviceAccount").drop(ownAccount)
	spec.at("automountServiceAccountToken").drop(ownAccount)
	spec.at("enableServiceLinks").dropUnless(false, "tandem turns it off: the variables of other services are not the run's")
	spec.at("restartPolicy").drop(ownRestart)
	spec.at("dnsPolicy").is("ClusterFirst") // which is what a pod has anyway
	m.readContainers(p, spec, command)
	p.readPlacement(spec)
	spec.dropUnknown(reflect.TypeFor[corev1.PodSpec]())
	p.overlay.merge(spec.rest(), "spec")
	template.dropUnknown(reflect.TypeFor[corev1.PodTemplateSpec]())
}

func placeOf(n node) place { return place{n.text(), n} }

// readMetadata takes the queue and the topology, and keeps further labels and annotations.
func (m *maker) readMetadata(p *part, metadata node) {
	m.readQueue(metadata.at("labels"))
	p.topology = readTopology(metadata.at("annotations"))
	dropKeys(metadata.at("labels"), "ray.io/", "KubeRay labels its pods itself")
	dropKeys(metadata.at("labels"), "tandem.dev/", ownMetadata)
	dropKeys(metadata.at("annotations"), overwriteCommand, ownCommand)
	p.overlay.merge(metadata.at("labels").rest(), "metadata", "labels")
	p.overlay.merge(metadata.at("annotations").rest(), "metadata", "annotations")
	metadata.drop(ownMetadata)
}

// overwriteCommand makes KubeRay leave the container's command alone.
const overwriteCommand = "ray.io/overwrite-container-cmd"

func dropKeys(mapping node, prefix, reason string) {
	for _, key := range mapping.keys() {
		if strings.HasPrefix(key, prefix) {
			mapping.at(key).drop(reason)
		}
	}
}

// readPlacement takes what says which nodes will do. The driver's pod has no fields for it.
func (p *part) readPlacement(spec node) {
	if p.isDriver() {
		return
	}
	if selector := spec.at("nodeSelector"); selector.there {
		p.group.NodeSelector = selector.texts()
	}
	spec.at("tolerations").into(&p.group.Tolerations)
}

// readContainers takes the first container apart, and keeps the others.
func (m *maker) readContainers(p *part, spec node, command func(container node)) {
	for _, container := range spec.at("initContainers").items() {
		if waitsForHead(container) {
			container.drop(ownWait)
			continue
		}
		p.keepContainer("initContainers", container)
	}
	for i, container := range spec.at("containers").items() {
		switch {
		case i == 0:
			p.readResources(container.at("resources"))
			command(container)
			p.readVolumes(spec, container)
			p.readClaims(spec, container)
			p.readContainer(container)
		case isPeerWatcher(container):
			container.drop(ownWatch)
		default:
			p.keepContainer("containers", container)
		}
	}
}

// ownContainers are those that tandem adds to pods. One of the same name would be merged into it.
var ownContainers = []string{"ray", "driver", "registry", "peerwatch", "wait-for-head", "wait-for-dashboard", "code"}

// keepContainer keeps one beside that of Ray.
func (p *part) keepContainer(list string, container node) {
	name, _ := container.at("name").value.(string)
	if slices.Contains(ownContainers, name) {
		container.at("name").drop("tandem has a container of this name, so it is called " + name + "-user")
	}
	container.dropUnknown(reflect.TypeFor[corev1.Container]())
	kept, is := container.unread(true).(map[string]any)
	if !is {
		return
	}
	if kept["name"] == nil {
		kept["name"] = name + "-user"
	}
	if kept["image"] == nil && p.fallback.value != "" {
		kept["image"] = p.fallback.value
	}
	p.overlay.add(list, kept)
}

// waitsForHead: the container does nothing but ask until Ray answers.
func waitsForHead(container node) bool {
	text, _, is := scriptOf(peek(container.at("command")), peek(container.at("args")))
	return is && strings.Contains(text, "ray health-check") && strings.Contains(text, "sleep")
}

// isPeerWatcher: the sidecar that NeMo-RL's examples have.
func isPeerWatcher(container node) bool {
	return container.at("env").named("PEER_CLUSTER_NAME").there && container.at("env").named("SELF_CLUSTER_NAME").there
}

// peek reads a list of strings without taking it.
func peek(n node) []string {
	var out []string
	for _, item := range n.items() {
		if text, is := item.value.(string); is {
			out = append(out, text)
		}
	}
	return out
}

// readContainer takes what the Run has fields for, and keeps the rest.
func (p *part) readContainer(container node) {
	container.at("name").dropUnless(p.container(), "tandem calls this container "+p.container())
	p.pullPolicy = placeOf(container.at("imagePullPolicy"))
	if p.image = p.fallback; p.image.value == "" {
		p.image = placeOf(container.at("image"))
	}
	p.readEnv(container)
	p.readPorts(container.at("ports"))
	for _, probe := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		p.readProbe(container.at(probe), probe)
	}
	if hook := container.at("lifecycle", "preStop", "exec", "command"); strings.Contains(strings.Join(peek(hook), " "), "ray stop") {
		container.at("lifecycle", "preStop").drop("tandem's start script stops Ray")
	}
	container.dropUnknown(reflect.TypeFor[corev1.Container]())
	fields, _ := container.rest().(map[string]any)
	p.overlay.addToContainer(p.container(), fields)
}

// readProbe keeps a probe only where it asks for something else than Ray.
func (p *part) readProbe(probe node, name string) {
	if !probe.there {
		return
	}
	asks := strings.Join(peek(probe.at("exec", "command")), " ")
	if strings.Contains(asks, "ray health-check") || strings.Contains(asks, "healthz") {
		probe.drop(ownProbe)
		return
	}
	probe.dropUnknown(reflect.TypeFor[corev1.Probe]())
	kept, is := probe.unread(true).(map[string]any)
	if !is {
		return
	}
	kept["$patch"] = "replace" // two handlers in one probe are an error
	p.overlay.addToContainer(p.container(), map[string]any{name: kept})
}

// readPorts takes those that are not Ray's own; readRayPorts has marked the others.
func (p *part) readPorts(ports node) {
	var kept []any
	for _, port := range ports.items() {
		if port.isRead() {
			continue
		}
		name, _ := port.at("name").value.(string)
		number, isNumber := wholeNumber(port.at("containerPort").value)
		port.at("protocol").is("TCP")
		simple := name != "" && isNumber && !p.isDriver() && len(port.unreadKeys()) == 2
		if !simple {
			port.dropUnknown(reflect.TypeFor[corev1.ContainerPort]())
			kept = append(kept, port.unread(true))
			continue
		}
		port.take()
		if p.group.Ports == nil {
			p.group.Ports = map[string]int32{}
		}
		p.group.Ports[name] = number
	}
	if len(kept) > 0 {
		p.overlay.addToContainer(p.container(), map[string]any{"ports": kept})
	}
}

// unreadKeys of a mapping.
func (n node) unreadKeys() []string {
	var out []string
	for _, key := range n.keys() {
		if !n.at(key).isRead() {
			out = append(out, key)
		}
	}
	return out
}
