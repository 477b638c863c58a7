package graph

import (
	"fmt"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Of draws a valid run.
func Of(run *v1alpha1.Run) Graph {
	p := painter{run: run, keys: map[string]string{}}
	clusters := make([]Frame, len(run.Spec.Clusters))
	for i := range run.Spec.Clusters {
		clusters[i] = p.cluster(i)
	}
	registry, driver := p.registry(), p.driver()
	g := Graph{Title: "run " + run.Metadata.Name, About: p.about(), Nodes: []Node{p.watch(clusters)}}
	if !p.driverInGang() {
		g.Nodes = append(g.Nodes, driver)
	}
	g.Frames = append(p.gangs(clusters, driver), registry)
	g.Edges = append(p.edges, p.readers()...)
	return g
}

// painter collects the edges while it makes nodes.
type painter struct {
	run   *v1alpha1.Run
	keys  map[string]string // the node of each key
	order []string          // the keys as they come in the file
	asks  []asking
	edges []Edge
}

func (p *painter) about() []string {
	spec := &p.run.Spec
	first := "backend " + string(spec.Backend)
	if p.run.Metadata.Namespace != "" {
		first = "namespace " + p.run.Metadata.Namespace + ", " + first
	}
	second := "scheduler " + string(spec.Scheduling.Scheduler)
	if spec.Scheduling.KAIVersion != "" {
		second += " " + spec.Scheduling.KAIVersion
	}
	if spec.Scheduling.Queue != "" {
		second += ", queue " + spec.Scheduling.Queue
	}
	size := Size{}
	for i := range spec.Clusters {
		size = size.Plus(SizeOf(&spec.Clusters[i]))
	}
	return []string{first, second, size.String() + " in " + count(len(spec.Clusters), "cluster")}
}

func headID(cluster int) string { return fmt.Sprintf("c%d_head", cluster) }

func (p *painter) cluster(i int) Frame {
	cluster := &p.run.Spec.Clusters[i]
	head := Node{ID: headID(i), Kind: NodeHead, Name: v1alpha1.GroupHead, Lines: about(&cluster.Head, 1)}
	if cluster.Name == p.run.Spec.Driver.Cluster {
		head.Lines = append(head.Lines, "runs the driver")
	}
	p.publishes(head.ID, cluster.PublishedBy(v1alpha1.GroupHead))
	p.asks = append(p.asks, asking{head.ID, append(asked(&cluster.Head), p.askedByDriver(cluster)...)})
	frame := Frame{ID: fmt.Sprintf("c%d", i), Kind: FrameCluster, Name: cluster.Name, Nodes: []Node{head}}
	if object := p.objectOf(cluster); object != "" {
		frame.Lines = append(frame.Lines, object)
	}
	frame.Lines = append(frame.Lines, SizeOf(cluster).String())
	for j, box := range boxes(cluster) {
		node := Node{ID: fmt.Sprintf("c%d_g%d", i, j), Kind: NodeCPU, Name: box.name, Lines: box.lines}
		if box.gpus {
			node.Kind = NodeGPU
		}
		p.publishes(node.ID, box.publish)
		p.asks = append(p.asks, asking{node.ID, box.asks})
		frame.Nodes = append(frame.Nodes, node)
	}
	return frame
}

// objectOf is the object that makes the cluster's pods; a JobSet makes those of all clusters.
func (p *painter) objectOf(cluster *v1alpha1.Cluster) string {
	switch {
	case !p.run.Spec.Backend.OnKubeRay():
		return ""
	case p.run.InRayJob(cluster):
		return "RayJob " + v1alpha1.RayJobName(p.run.Metadata.Name)
	}
	return "RayCluster " + v1alpha1.RayClusterName(p.run.Metadata.Name, cluster.Name)
}

func (p *painter) driver() Node {
	node := Node{ID: "driver", Kind: NodeDriver, Name: v1alpha1.GroupDriver}
	switch p.run.Spec.Backend {
	case v1alpha1.BackendJobSet:
		node.Lines = []string{"replicatedJob of the JobSet"}
	case v1alpha1.BackendRayJob:
		node.Lines = []string{"submitted by KubeRay, no pod"}
	default:
		node.Lines = []string{"Job " + v1alpha1.DriverJobName(p.run.Metadata.Name)}
	}
	if command := p.run.Spec.Driver.Command; len(command) > 0 {
		node.Lines = append(node.Lines, shortened(strings.Join(command, " "), 60))
	}
	for i := range p.run.Spec.Clusters {
		if p.run.Spec.Clusters[i].Name == p.run.Spec.Driver.Cluster {
			p.edges = append(p.edges, Edge{node.ID, headID(i), SubmitsTo})
		}
	}
	return node
}

// shortened cuts a text for people at a number of characters.
func shortened(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return text
}

// watch is what takes the run down; it watches the heads with peerwatch, whole clusters with a JobSet.
func (p *painter) watch(clusters []Frame) Node {
	node := Node{ID: "watch", Kind: NodeWatch, Name: "peerwatch", Lines: []string{"in each head: watches the others and the driver"}}
	byHead := p.run.Spec.Backend.OnKubeRay()
	if !byHead {
		node.Name, node.Lines = "failure policy", []string{"JobSet " + v1alpha1.JobSetName(p.run.Metadata.Name) + " watches all pods"}
	}
	node.Lines = append(node.Lines, "a failure "+p.consequence())
	for i := range clusters {
		to := clusters[i].ID
		if byHead {
			to = headID(i)
		}
		p.edges = append(p.edges, Edge{node.ID, to, Watches})
	}
	p.edges = append(p.edges, Edge{node.ID, "driver", Watches})
	return node
}

func (p *painter) consequence() string {
	switch failure := p.run.Spec.Failure; failure.OnPeerFailure {
	case v1alpha1.PeerFailureRestart:
		return fmt.Sprintf("starts all again, at most %s", count(int(failure.MaxRestarts), "time"))
	case v1alpha1.PeerFailureSignal:
		return "is reported to the registry"
	case v1alpha1.PeerFailureIgnore:
		return "is ignored"
	default:
		return "takes the run down"
	}
}
