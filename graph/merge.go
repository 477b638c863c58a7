package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// A cluster of more than mergeAbove worker groups has its equal neighbours drawn as one box; if there are still more than maxBoxes, the
// last stands for the rest.
const (
	mergeAbove = 8
	maxBoxes   = 12
)

// groupBox is one or several worker groups.
type groupBox struct {
	name    string
	lines   []string
	gpus    bool
	publish []v1alpha1.Publish
	asks    []string
}

func boxes(cluster *v1alpha1.Cluster) []groupBox {
	var out []groupBox
	for _, alike := range alikes(cluster) {
		out = append(out, boxOf(cluster, alike))
	}
	if len(out) <= maxBoxes {
		return out
	}
	first := 0
	for _, alike := range alikes(cluster)[:maxBoxes-1] {
		first += len(alike)
	}
	return append(out[:maxBoxes-1], restOf(cluster, cluster.Workers[first:]))
}

// alikes are the groups of the cluster in the order of the file, equal neighbours together where there are many.
func alikes(cluster *v1alpha1.Cluster) [][]v1alpha1.WorkerGroup {
	var out [][]v1alpha1.WorkerGroup
	last := ""
	for i, worker := range cluster.Workers {
		looks := lookOf(cluster, &worker)
		if i > 0 && looks == last && len(cluster.Workers) > mergeAbove {
			out[len(out)-1] = append(out[len(out)-1], worker)
		} else {
			out = append(out, []v1alpha1.WorkerGroup{worker})
		}
		last = looks
	}
	return out
}

// lookOf is all that is drawn of a group but its name.
func lookOf(cluster *v1alpha1.Cluster, worker *v1alpha1.WorkerGroup) string {
	var keys []string
	for _, publish := range cluster.PublishedBy(worker.Name) {
		keys = append(keys, publish.Key)
	}
	return strings.Join(slices.Concat(aboutWorkers(worker), keys, asked(&worker.Group)), "\n")
}

func aboutWorkers(worker *v1alpha1.WorkerGroup) []string {
	lines := about(&worker.Group, worker.Pods())
	if worker.GPUs == 0 && worker.Pods() == 1 {
		lines = append([]string{count(1, "pod")}, lines...)
	}
	if segments := worker.Segments(); len(segments) > 1 {
		lines = append(lines, fmt.Sprintf("%s of %s", count(len(segments), "segment"), count(int(segments[0].Pods), "pod")))
	}
	if worker.MinReplicas != nil && worker.MaxReplicas != nil {
		lines = append(lines, fmt.Sprintf("autoscales from %d to %s", *worker.MinReplicas, count(int(*worker.MaxReplicas), "pod")))
	}
	return lines
}

func boxOf(cluster *v1alpha1.Cluster, alike []v1alpha1.WorkerGroup) groupBox {
	first := &alike[0]
	box := groupBox{name: first.Name, lines: aboutWorkers(first), gpus: first.GPUs > 0, publish: cluster.PublishedBy(first.Name), asks: asked(&first.Group)}
	if len(alike) > 1 {
		box.name = fmt.Sprintf("%s … %s", first.Name, alike[len(alike)-1].Name)
		box.lines = append([]string{count(len(alike), "group") + ", each:"}, box.lines...)
	}
	return box
}

// restOf is one box for groups that differ.
func restOf(cluster *v1alpha1.Cluster, workers []v1alpha1.WorkerGroup) groupBox {
	size := Size{}
	box := groupBox{name: count(len(workers), "more group")}
	for i := range workers {
		size = size.Plus(sizeOfGroup(&workers[i]))
		box.publish = append(box.publish, cluster.PublishedBy(workers[i].Name)...)
		box.asks = append(box.asks, asked(&workers[i].Group)...)
	}
	box.publish = slices.CompactFunc(box.publish, func(a, b v1alpha1.Publish) bool { return a == b })
	box.gpus, box.lines = size.GPUs > 0, []string{size.String()}
	return box
}
