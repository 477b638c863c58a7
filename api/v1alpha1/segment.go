package v1alpha1

import "fmt"

// Segment is a part of a worker group that becomes a group of its own, so that a scheduler can place it as one.
type Segment struct {
	// Name is that of the worker group, or <group>-segment-<i> where it has several.
	Name string
	// Pods of the segment.
	Pods int32
	// Index counts from 0; Several tells whether there are others.
	Index   int
	Several bool
}

// maxSegments of a group: each has a pod template of its own in the object that makes the pods, and an object of more does not fit into
// etcd. Validate refuses more; until then the rest is left out, so that a typing error does not fill the memory.
const maxSegments = 1000

// Segments of the group, one if it is not split.
func (w *WorkerGroup) Segments() []Segment {
	size, pods := w.SegmentSize, w.Pods()
	if size <= 0 || pods <= size {
		return []Segment{{Name: w.Name, Pods: pods}}
	}
	out := make([]Segment, min(pods/size, maxSegments))
	for i := range out {
		out[i] = Segment{Name: SegmentName(w.Name, i), Pods: size, Index: i, Several: true}
	}
	return out
}

// SegmentName is segment i of a worker group.
func SegmentName(group string, i int) string { return fmt.Sprintf("%s-segment-%d", group, i) }
