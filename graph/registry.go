package graph

import (
	"fmt"
	"slices"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// publishes notes who publishes what.
func (p *painter) publishes(node string, list []v1alpha1.Publish) {
	for _, publish := range list {
		if _, known := p.keys[publish.Key]; !known {
			p.keys[publish.Key] = fmt.Sprintf("k%d", len(p.order))
			p.order = append(p.order, publish.Key)
		}
		edge := Edge{node, p.keys[publish.Key], Publishes}
		if !slices.Contains(p.edges, edge) {
			p.edges = append(p.edges, edge)
		}
	}
}

// registry is the run's ConfigMap with the keys that are published.
func (p *painter) registry() Frame {
	frame := Frame{
		ID: "registry", Kind: FrameRegistry, Name: "registry",
		Lines: []string{"ConfigMap " + v1alpha1.ConfigMapName(p.run.Metadata.Name)},
	}
	if shards := p.run.RegistryShards(); shards > 0 {
		frame.Lines = append(frame.Lines, count(shards, "shard"))
	}
	if len(p.order) == 0 {
		frame.Lines = append(frame.Lines, "no keys are published")
	}
	for _, key := range p.order {
		frame.Nodes = append(frame.Nodes, Node{ID: p.keys[key], Kind: NodeKey, Name: key, Lines: p.aboutKey(key)})
	}
	return frame
}

// aboutKey says what the key holds, and what holds it back.
func (p *painter) aboutKey(key string) []string {
	pods, member := int32(0), false
	var condition string
	for i := range p.run.Spec.Clusters {
		cluster := &p.run.Spec.Clusters[i]
		for _, publish := range cluster.Publish {
			if publish.Key != key {
				continue
			}
			member = member || publish.Member
			if publish.When != nil && publish.When.HTTPGet != nil {
				condition = "once GET " + publish.When.HTTPGet.Path + " answers"
			}
			pods += publishers(cluster, publish)
		}
	}
	lines := []string{"one URL"}
	if member {
		lines = []string{"a list of " + count(int(pods), "URL")}
	}
	if condition != "" {
		lines = append(lines, condition)
	}
	return lines
}

// publishers counts the pods of a cluster that publish an endpoint.
func publishers(cluster *v1alpha1.Cluster, publish v1alpha1.Publish) int32 {
	pods := int32(0)
	if slices.Contains(cluster.PublishedBy(v1alpha1.GroupHead), publish) {
		pods++
	}
	for i := range cluster.Workers {
		worker := &cluster.Workers[i]
		if slices.Contains(cluster.PublishedBy(worker.Name), publish) {
			pods += worker.Pods()
		}
	}
	return pods
}

// keyGymHead is read by the driver, which finds the environments by it; keyVLLM by whoever publishes keyGymHead, for the environments call
// the model.
const (
	keyGymHead = "gym_head_server"
	keyVLLM    = "vllm_base_urls"
)

// readers are the reads that are known of NeMo-RL's keys.
func (p *painter) readers() []Edge {
	var edges []Edge
	for i := range p.run.Spec.Clusters {
		cluster := &p.run.Spec.Clusters[i]
		for _, key := range p.order {
			gym := slices.ContainsFunc(cluster.Publish, func(publish v1alpha1.Publish) bool { return publish.Key == keyGymHead })
			if key == keyGymHead && cluster.Name == p.run.Spec.Driver.Cluster || key == keyVLLM && gym {
				edges = append(edges, Edge{p.keys[key], headID(i), ReadBy})
			}
		}
	}
	return edges
}
