package graph

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

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

// asking is what a node asks the registry for, in the words of its command.
type asking struct {
	node  string
	words []string
}

// asksRegistry is a command line that waits for keys or gets them, up to its end.
var asksRegistry = regexp.MustCompile(`registry\s+(?:wait|get)\s+([^;&|\n]*)`)

// asked are the words behind `registry wait` and `registry get` in what a group runs; keys are among them.
func asked(group *v1alpha1.Group) []string {
	return wordsBehind(strings.Join(group.Command, " ") + "\n" + group.Setup)
}

func wordsBehind(text string) []string {
	var out []string
	for _, match := range asksRegistry.FindAllStringSubmatch(text, -1) {
		for _, word := range strings.Fields(match[1]) {
			out = append(out, strings.Trim(word, `"'()`))
		}
	}
	return out
}

// keyVLLM is read by whoever publishes the address of NeMo Gym's head, for the environments call the model.
const keyVLLM = "vllm_base_urls"

// askedByDriver is what the driver reads by the head in which it runs: it finds the environments by NeMo Gym's head.
func (p *painter) askedByDriver(cluster *v1alpha1.Cluster) []string {
	var out []string
	if cluster.Name == p.run.Spec.Driver.Cluster {
		out = append(wordsBehind(strings.Join(p.run.Spec.Driver.Command, " ")), v1alpha1.KeyGymHead)
	}
	if slices.ContainsFunc(cluster.Publish, func(publish v1alpha1.Publish) bool { return publish.Key == v1alpha1.KeyGymHead }) {
		out = append(out, keyVLLM)
	}
	return out
}

// readers are the reads that are known: of NeMo-RL's keys, and those that a command names.
func (p *painter) readers() []Edge {
	var edges []Edge
	for _, ask := range p.asks {
		for _, key := range p.order {
			if slices.Contains(ask.words, key) {
				edges = append(edges, Edge{p.keys[key], ask.node, ReadBy})
			}
		}
	}
	return edges
}
