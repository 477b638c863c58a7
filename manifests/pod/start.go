package pod

import (
	_ "embed"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

//go:embed start.sh
var startScript string

// startCommand is the command of every Ray container: the script, and the name it goes by in bash's own messages.
func startCommand() []string {
	return []string{"/bin/bash", "-c", startScript, "tandem-start"}
}

// startArgs hands the script Ray's arguments and the group's command as separate words; nothing is quoted or pasted.
// Ray has the startup grace to answer: a worker's waits for its head that long.
func (g Group) startArgs() []string {
	ray, grace := g.rayArgs(), g.Run.Spec.Failure.StartupGrace.Duration
	args := []string{
		decimal(v1alpha1.RayAgentPort), strconv.Itoa(int(math.Ceil(grace.Seconds()))),
		verbatim(g.Spec.Setup), strconv.Itoa(len(ray)),
	}
	return slices.Concat(args, ray, g.Spec.Command)
}

// verbatim keeps Kubernetes from expanding $(NAME) and $$ in a script.
func verbatim(script string) string { return strings.ReplaceAll(script, "$", "$$") }

func (g Group) rayArgs() []string {
	if g.isHead() {
		return append([]string{"--head"}, flags(g.RayStartParams())...)
	}
	return append([]string{"--address=" + g.gcsAddress()}, flags(g.RayStartParams())...)
}

// gcsAddress is where the group finds its cluster.
func (g Group) gcsAddress() string {
	host := "127.0.0.1"
	if !g.isHead() {
		host = g.Run.HeadHost(g.Cluster.Name)
	}
	return net.JoinHostPort(host, decimal(g.Cluster.Ports.GCS))
}

// RayStartParams are the flags of `ray start` by name, without those that KubeRay adds to its own (address, block).
// KubeRay reads ports from them for its services and probes, so the RayCluster repeats what the start script uses.
func (g Group) RayStartParams() map[string]string {
	params := map[string]string{
		"metrics-export-port":         decimal(v1alpha1.MetricsPort),
		"dashboard-agent-listen-port": decimal(v1alpha1.RayAgentPort),
	}
	if g.isHead() {
		params["port"] = decimal(g.Cluster.Ports.GCS)
		params["dashboard-host"] = "0.0.0.0"
		params["dashboard-port"] = decimal(g.Cluster.Ports.Dashboard)
		params["ray-client-server-port"] = decimal(g.Cluster.Ports.Client)
		params["no-monitor"] = "true" // the monitor is Ray's autoscaler, which KubeRay runs beside the head where it is wanted
	}
	if low, high, err := g.Run.Spec.PortRanges.Ray.Bounds(); err == nil { // as in rangeEnv
		params["min-worker-port"], params["max-worker-port"] = decimal(low), decimal(high)
	}
	params["num-gpus"] = decimal(g.Spec.GPUs) // 0 too: Ray would count those of the node that the image makes visible
	maps.Copy(params, g.Spec.RayStartParams)
	return params
}

func decimal(n int32) string { return strconv.Itoa(int(n)) }

// flags writes parameters as KubeRay does: "true" is a bare flag, "false" leaves it out, but for the two that take the word.
func flags(params map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		value := params[name]
		takesWord := name == "log-color" || name == "include-dashboard"
		switch {
		case strings.EqualFold(value, "true") && !takesWord:
			out = append(out, "--"+name)
		case strings.EqualFold(value, "false") && !takesWord:
		default:
			out = append(out, "--"+name+"="+value)
		}
	}
	return out
}
