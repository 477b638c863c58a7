package importer

import (
	"regexp"
	"strings"
)

// Kinds of files that are no Kubernetes objects.
const (
	kindInfra    = "nrl-k8s infra file"
	kindRecipe   = "NeMo-RL recipe"
	kindGym      = "NeMo Gym configuration"
	kindHelmfile = "helmfile"
	kindUnknown  = "YAML"
)

// kindOf says what a document without a kind is.
func kindOf(document map[string]any) string {
	has := func(keys ...string) bool {
		for _, key := range keys {
			if _, is := document[key]; !is {
				return false
			}
		}
		return true
	}
	switch {
	case has("kuberay"):
		return kindInfra
	case has("infra"):
		if inner, _ := document["infra"].(map[string]any); inner["kuberay"] != nil {
			return kindInfra
		}
		return kindRecipe
	case has("policy", "cluster"), has("grpo"), has("defaults"):
		return kindRecipe
	case has("config_paths"), has("policy_model"):
		return kindGym
	default:
		return kindUnknown
	}
}

var helmReleases = regexp.MustCompile(`(?m)^releases:\s*$`)

// isHelmfile: such a file is a template, and no YAML before it is rendered.
func isHelmfile(data []byte) bool {
	return helmReleases.Match(data) && strings.Contains(string(data), "chart:")
}

func groupOf(document map[string]any) string {
	version, _ := document["apiVersion"].(string)
	group, _, found := strings.Cut(version, "/")
	if !found {
		return ""
	}
	return group
}

// workloads are what a Run is made of.
var workloads = map[string]bool{"JobSet": true, "RayCluster": true, "RayJob": true, kindInfra: true}

// standIn says what in tandem stands for an object that is no workload.
var standIn = map[string]string{
	"ServiceAccount":        "tandem makes the accounts of a run itself, and mounts their tokens into its sidecars only",
	"Role":                  "tandem makes the roles of a run itself; their rules name the run's objects and nothing else",
	"RoleBinding":           "tandem makes the role bindings of a run itself",
	"ClusterRole":           "the pods of a run need no rights beyond their namespace; tandem makes those that they need",
	"ClusterRoleBinding":    "the pods of a run need no rights beyond their namespace; tandem makes those that they need",
	"Queue":                 "queues belong to the cluster and outlive a run: apply them as they are; a run names its queue in spec.scheduling.queue",
	"Topology":              "topologies belong to the cluster and outlive a run: apply them as they are; a run names its own in spec.scheduling.topology",
	"PodGroup":              "tandem makes the PodGroup of a run itself: spec.scheduling.gang",
	"ComputeDomain":         "no pod of the workloads refers to it; a run makes its own from spec.claims",
	"ResourceClaimTemplate": "no pod of the workloads refers to it; a run makes its own from spec.claims",
	"Run":                   "it is a Run file already: tandem render -f shows what it becomes",
	kindHelmfile:            "it installs the operators that runs need, and says nothing of a run; go on using it as it is",
	kindGym:                 "it is the configuration of the Gym server and not of a run: the command of the Gym cluster's head names it with --config-yaml",
	kindRecipe:              "it says what is trained, not where: the driver's command names it with --config, and `tandem gym-config` takes Gym's part out of it",
	kindUnknown:             "it has no kind, and is no infra file of nrl-k8s either (which has a `kuberay` section)",
}

// beside is for every other object.
const beside = "it is no part of the run's Ray clusters: apply it yourself beside the run"

func (o *object) standIn() string {
	if why, known := standIn[o.kind]; known {
		return why
	}
	return beside
}

// isNeeded: the workloads may refer to the object, and nobody else makes it.
func (o *object) isNeeded() bool {
	_, known := standIn[o.kind]
	return !known && !workloads[o.kind]
}
