package plan

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Resources are amounts: of CPU in thousandths, of all else in units.
type Resources map[corev1.ResourceName]int64

// MarshalJSON writes quantities, as Kubernetes does.
func (r Resources) MarshalJSON() ([]byte, error) {
	list := map[corev1.ResourceName]string{}
	for name, amount := range r {
		list[name] = exactly(name, amount)
	}
	return json.Marshal(list)
}

// exactly is an amount as Kubernetes writes it.
func exactly(name corev1.ResourceName, amount int64) string {
	switch {
	case name == corev1.ResourceCPU:
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case inBytes(name):
		return resource.NewQuantity(amount, resource.BinarySI).String()
	default:
		return resource.NewQuantity(amount, resource.DecimalSI).String()
	}
}

func inBytes(name corev1.ResourceName) bool {
	return name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// amountOf is an amount for people, to two decimal places.
func amountOf(name corev1.ResourceName, amount int64) string {
	short := func(value float64) string { return strconv.FormatFloat(math.Round(value*100)/100, 'f', -1, 64) }
	switch {
	case name == corev1.ResourceCPU && amount >= 1000:
		return short(float64(amount) / 1000)
	case inBytes(name) && amount >= 1<<30:
		return short(float64(amount)/(1<<30)) + "Gi"
	case inBytes(name) && amount >= 1<<20:
		return short(float64(amount)/(1<<20)) + "Mi"
	default:
		return exactly(name, amount)
	}
}

func resourcesOf(list corev1.ResourceList) Resources {
	out := Resources{}
	for name, quantity := range list {
		if name == corev1.ResourceCPU {
			out[name] = quantity.MilliValue()
		} else {
			out[name] = quantity.Value()
		}
	}
	return out
}

// add adds an amount several times.
func (r Resources) add(other Resources, times int64) {
	for name, amount := range other {
		r[name] += amount * times
	}
}

// names lists the resources, the scarce first: GPUs, other devices, memory, CPU, and what is left.
func (r Resources) names() []corev1.ResourceName {
	rank := func(name corev1.ResourceName) int {
		switch {
		case name == v1alpha1.ResourceGPU:
			return 0
		case strings.Contains(string(name), "/"):
			return 1
		case name == corev1.ResourceMemory:
			return 2
		case name == corev1.ResourceCPU:
			return 3
		default:
			return 4
		}
	}
	return slices.SortedFunc(maps.Keys(r), func(a, b corev1.ResourceName) int {
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		return strings.Compare(string(a), string(b))
	})
}

// requestsOf is what the scheduler counts for a pod. What has a limit and no request gets the limit as request from the API server.
func requestsOf(spec corev1.PodSpec) Resources {
	pod := &corev1.Pod{Spec: *spec.DeepCopy()}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			defaultRequests(&containers[i].Resources)
		}
	}
	out := resourcesOf(podresources.PodRequests(pod, podresources.PodResourcesOptions{}))
	maps.DeleteFunc(out, func(_ corev1.ResourceName, amount int64) bool { return amount == 0 })
	return out
}

func defaultRequests(resources *corev1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if _, asked := resources.Requests[name]; !asked {
			if resources.Requests == nil {
				resources.Requests = corev1.ResourceList{}
			}
			resources.Requests[name] = limit
		}
	}
}

func portsOf(spec corev1.PodSpec) map[string]int32 {
	var out map[string]int32
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, port := range container.Ports {
			if out == nil {
				out = map[string]int32{}
			}
			out[port.Name] = port.ContainerPort
		}
	}
	return out
}
