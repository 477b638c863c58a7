package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// flag of `ray start`, and how to say that it is dropped.
type flag struct {
	value string
	drop  func(reason string)
}

// paramFlags are rayStartParams of KubeRay.
func paramFlags(params node) map[string]flag {
	out := map[string]flag{}
	for _, name := range params.keys() {
		at := params.at(name)
		value := at.text()
		out[name] = flag{value, func(reason string) { at.dropPart(value, reason) }}
	}
	params.take()
	return out
}

// ownFlags say that a node is a head or which head it joins, and that the program stays: tandem sets them.
var ownFlags = []string{"head", "block", "address"}

// scriptFlags are those of a script that is found at a place.
func scriptFlags(start *rayStart, at node) map[string]flag {
	out := map[string]flag{}
	for name, value := range start.flags {
		if slices.Contains(ownFlags, name) {
			continue
		}
		out[name] = flag{value, func(reason string) { at.dropPart("--"+name+"="+value, reason) }}
	}
	return out
}

// readFlags takes what the Run has fields for.
func (m *maker) readFlags(cluster *v1alpha1.Cluster, p *part, flags map[string]flag) {
	m.readPortRange(flags)
	if p.isHead() {
		readPort(flags, "port", &cluster.Ports.GCS, v1alpha1.DefaultGCSPort)
		readPort(flags, "dashboard-port", &cluster.Ports.Dashboard, v1alpha1.DefaultDashPort)
		readPort(flags, "ray-client-server-port", &cluster.Ports.Client, v1alpha1.DefaultClientPort)
		readSame(flags, "dashboard-host", "0.0.0.0")
		readSame(flags, "no-monitor", "true")
	}
	readSame(flags, "num-gpus", strconv.Itoa(int(p.group.GPUs)))
	readSame(flags, "metrics-export-port", strconv.Itoa(int(v1alpha1.MetricsPort)))
	readSame(flags, "dashboard-agent-listen-port", strconv.Itoa(int(v1alpha1.RayAgentPort)))
	readSame(flags, "block", "true")
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if reason := managed(p, name); reason != "" {
			flags[name].drop(reason)
			continue
		}
		if p.group.RayStartParams == nil {
			p.group.RayStartParams = map[string]string{}
		}
		p.group.RayStartParams[name] = flags[name].value
	}
}

// managed says why a flag is not the user's; it is empty where it is.
func managed(p *part, name string) string {
	switch name {
	case "num-gpus":
		return fmt.Sprintf("Ray hears of as many GPUs as the pod has, which is %d", p.group.GPUs)
	case "metrics-export-port", "dashboard-agent-listen-port":
		return "tandem sets it: its probes and services ask there"
	case "port", "dashboard-port", "ray-client-server-port":
		return ownPort
	case "head", "block", "address":
		return "it follows from the cluster and the group"
	}
	return ""
}

func readSame(flags map[string]flag, name, value string) {
	if flags[name].value == value {
		delete(flags, name)
	}
}

// readPort takes a port of the head; the default is left out.
func readPort(flags map[string]flag, name string, port *int32, usual int32) {
	given, is := flags[name]
	number, err := strconv.ParseInt(given.value, 10, 32)
	if !is || err != nil {
		return
	}
	delete(flags, name)
	if int32(number) != usual {
		*port = int32(number)
	}
}

// readPortRange takes the range of Ray's worker processes, of which the run has one.
func (m *maker) readPortRange(flags map[string]flag) {
	low, high := flags["min-worker-port"], flags["max-worker-port"]
	if low.value == "" || high.value == "" {
		return
	}
	given := v1alpha1.PortRange(low.value + "-" + high.value)
	delete(flags, "min-worker-port")
	delete(flags, "max-worker-port")
	ray := &m.run.Spec.PortRanges.Ray
	if *ray != "" && *ray != given {
		low.drop("the run has one range for Ray, " + string(*ray) + " (portRanges.ray)")
		high.drop("the run has one range for Ray, " + string(*ray) + " (portRanges.ray)")
		return
	}
	*ray = given
}

// readRayPorts takes container ports that are Ray's own, by their names or numbers.
func readRayPorts(cluster *v1alpha1.Cluster, p *part, ports node) {
	own := rayPorts(cluster, p)
	for _, port := range ports.items() {
		name, _ := port.at("name").value.(string)
		number, _ := wholeNumber(port.at("containerPort").value)
		called, isCalled := own[name]
		switch {
		case isCalled:
			port.at("name").take()
			port.at("containerPort").dropUnless(called, ownPort)
		case slices.Contains(slices.Collect(maps.Values(own)), number):
			port.at("containerPort").take()
		default:
			continue
		}
		port.at("protocol").dropUnless("TCP", ownPort)
		port.drop(ownPort)
	}
}

// rayPorts are those that tandem declares for Ray, by name.
func rayPorts(cluster *v1alpha1.Cluster, p *part) map[string]int32 {
	own := map[string]int32{v1alpha1.PortNameMetrics: v1alpha1.MetricsPort}
	if p.isHead() {
		own[v1alpha1.PortNameGCS] = either(cluster.Ports.GCS, v1alpha1.DefaultGCSPort)
		own[v1alpha1.PortNameDash] = either(cluster.Ports.Dashboard, v1alpha1.DefaultDashPort)
		own[v1alpha1.PortNameClient] = either(cluster.Ports.Client, v1alpha1.DefaultClientPort)
	}
	return own
}

// either is the value, or what takes its place where there is none.
func either[T comparable](value, otherwise T) T {
	if value == *new(T) {
		return otherwise
	}
	return value
}
