package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Plan is what a run will be.
type Plan struct {
	Run       string             `json:"run"`
	Namespace string             `json:"namespace"`
	Backend   v1alpha1.Backend   `json:"backend"`
	Scheduler v1alpha1.Scheduler `json:"scheduler"`
	Queue     string             `json:"queue,omitempty"`

	Objects []Object `json:"objects"`
	Groups  []Group  `json:"groups"`
	// Total is what all pods ask for.
	Total    Resources `json:"total"`
	Pods     int32     `json:"pods"`
	Gangs    []Gang    `json:"gangs"`
	Accounts []Account `json:"accounts"`
	Heads    []Head    `json:"heads"`
	// Needs are what must be there already.
	Needs []Reference `json:"needs"`
	// Findings are in the order in which they were looked for.
	Findings []Finding `json:"findings"`
	Verdict  Verdict   `json:"verdict"`

	run     *v1alpha1.Run
	objects []*unstructured.Unstructured
	crews   []crew
}

// Object is one that `tandem up` makes.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// Group is pods of one shape.
type Group struct {
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	Pods    int32  `json:"pods"`
	// Most is to how many pods an autoscaler may take the group.
	Most int32 `json:"most,omitempty"`
	// Segments is in how many parts the group is placed; each within one domain of the level Within, if that is set.
	Segments int    `json:"segments,omitempty"`
	Within   string `json:"within,omitempty"`
	// Each is what one pod asks for, as the scheduler counts it: with its sidecars and its largest init container.
	Each Resources `json:"each"`
	// Ports of all its containers, by name.
	Ports map[string]int32 `json:"ports,omitempty"`
}

// Gang is pods that start together or not at all.
type Gang struct {
	Name string `json:"name"`
	// Min is how many of Pods must be placed at once.
	Min  int32 `json:"min"`
	Pods int32 `json:"pods"`
	// Of several gangs of one shape only one is listed.
	Count int32 `json:"count,omitempty"`
	// Parts are its subgroups.
	Parts []Part `json:"parts,omitempty"`
	// Broken says why it will not form.
	Broken string `json:"broken,omitempty"`
}

// Part is a subgroup of a gang with its own minimum; Within another if it has a parent.
type Part struct {
	Name     string `json:"name"`
	Parent   string `json:"parent,omitempty"`
	Min      int32  `json:"min"`
	Pods     int32  `json:"pods"`
	Topology string `json:"topology,omitempty"`
}

// Head is where a cluster is reached inside the Kubernetes cluster.
type Head struct {
	Cluster string           `json:"cluster"`
	Host    string           `json:"host"`
	Ports   map[string]int32 `json:"ports"`
}

// Reference is an object that pods need and the run does not make.
type Reference struct {
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	Keys     []string `json:"keys,omitempty"` // of a Secret or ConfigMap
	UsedBy   []string `json:"usedBy"`
	Optional bool     `json:"optional,omitempty"`
	pods     int32
}

// crew is the pods of one owner that share a template: a replicatedJob, a worker group, a Job.
type crew struct {
	owner    string // JobSet x
	cluster  string
	group    string
	part     string // of a group that is split; the group's name otherwise
	pods     int32
	most     int32 // with an autoscaler
	template corev1.PodTemplateSpec
	each     Resources
	level    string // the node label whose value the pods must share
}

// name is how a crew's group is told of.
func (c *crew) name() string { return c.cluster + "/" + c.group }
