package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Size is a number of pods and their GPUs.
type Size struct{ Pods, GPUs int64 }

// Plus adds two sizes.
func (s Size) Plus(other Size) Size { return Size{s.Pods + other.Pods, s.GPUs + other.GPUs} }

func (s Size) String() string {
	if s.GPUs == 0 {
		return count(int(s.Pods), "pod")
	}
	return count(int(s.Pods), "pod") + ", " + count(int(s.GPUs), "GPU")
}

// SizeOf counts the head and the workers of a cluster.
func SizeOf(cluster *v1alpha1.Cluster) Size {
	size := Size{1, int64(cluster.Head.GPUs)}
	for i := range cluster.Workers {
		size = size.Plus(sizeOfGroup(&cluster.Workers[i]))
	}
	return size
}

func sizeOfGroup(worker *v1alpha1.WorkerGroup) Size {
	pods := int64(worker.Pods())
	return Size{pods, pods * int64(worker.GPUs)}
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// about says what the pods of a group are like.
func about(group *v1alpha1.Group, pods int32) []string {
	var lines []string
	switch {
	case group.GPUs == 0 && pods == 1:
	case group.GPUs == 0:
		lines = append(lines, count(int(pods), "pod"))
	default:
		lines = append(lines, fmt.Sprintf("%s x %s", count(int(pods), "pod"), count(int(group.GPUs), "GPU")))
	}
	if text := resources(group.Resources); text != "" {
		lines = append(lines, text)
	}
	if len(group.Claims) > 0 {
		lines = append(lines, "claims "+strings.Join(group.Claims, ", "))
	}
	return lines
}

// resources of one pod: those with a name of their own first.
func resources(list corev1.ResourceList) string {
	var texts []string
	rest := maps.Clone(list)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, asked := rest[name]; asked {
			texts = append(texts, quantity.String()+" "+string(name))
			delete(rest, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		quantity := rest[name]
		texts = append(texts, quantity.String()+" "+string(name))
	}
	return strings.Join(texts, ", ")
}
