package graph

// Graph is the picture of a run.
type Graph struct {
	Title string
	// About are lines about the run as a whole.
	About []string
	// Nodes are those outside every frame.
	Nodes  []Node
	Frames []Frame
	Edges  []Edge
}

// Node is a box.
type Node struct {
	ID    string
	Kind  NodeKind
	Name  string
	Lines []string
}

// NodeKind is what a box stands for.
type NodeKind string

// The kinds of nodes.
const (
	NodeHead   NodeKind = "head"
	NodeGPU    NodeKind = "gpu" // a worker group with GPUs
	NodeCPU    NodeKind = "cpu" // a worker group without
	NodeDriver NodeKind = "driver"
	NodeKey    NodeKind = "key"
	NodeWatch  NodeKind = "watch" // what takes the run down
)

// Frame is a box around others.
type Frame struct {
	ID     string
	Kind   FrameKind
	Name   string
	Lines  []string
	Nodes  []Node
	Frames []Frame
}

// FrameKind is what a frame stands for.
type FrameKind string

// The kinds of frames.
const (
	FrameCluster  FrameKind = "raycluster" // not "cluster": Mermaid has a class of that name
	FrameRegistry FrameKind = "registry"
	FrameGang     FrameKind = "gang"
)

// Edge leads from a node to a node or frame.
type Edge struct {
	From, To string // IDs
	Kind     EdgeKind
}

// EdgeKind is what an edge means; the value is the verb between its ends.
type EdgeKind string

// The kinds of edges.
const (
	Publishes EdgeKind = "publishes" // from a group to a key
	ReadBy    EdgeKind = "read by"   // from a key to a head
	Watches   EdgeKind = "watches"   // from the watch to a head, a cluster or the driver
	SubmitsTo EdgeKind = "submits to"
)
