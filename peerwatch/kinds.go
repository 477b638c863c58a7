package peerwatch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// PeerKind is what a peer is, as the command line names it. The zero value is a RayCluster.
type PeerKind string

// The kinds of peers.
const (
	RayCluster  PeerKind = "raycluster"
	RayJob      PeerKind = "rayjob"
	JobSet      PeerKind = "jobset"
	Job         PeerKind = "job"
	StatefulSet PeerKind = "statefulset"
	Deployment  PeerKind = "deployment"
	// Pods are a set of pods that nobody heals; its name is a label selector.
	Pods PeerKind = "pods"
)

// Ref names a peer.
type Ref struct {
	Kind PeerKind
	Name string
}

// ParseRef reads KIND/NAME. A name alone is a RayCluster's. Of pods the name is a label selector: pods/app=x,role=y.
func ParseRef(text string) (Ref, error) {
	kind, name, found := strings.Cut(text, "/")
	if !found || strings.Contains(kind, "=") {
		kind, name = string(RayCluster), text
	}
	ref := Ref{PeerKind(kind), name}
	if !slices.Contains(peerKinds, ref.Kind) || name == "" {
		return Ref{}, fmt.Errorf("%q: want KIND/NAME, or the NAME of a RayCluster; KIND is one of %s", text, joinKinds(peerKinds))
	}
	return ref, nil
}

// String is how people read it: RayCluster gym.
func (r Ref) String() string { return r.traits().title + " " + r.Name }

func (r Ref) validate(what string) error {
	if r.Kind == Pods {
		if r.Name == "" {
			return fmt.Errorf("%s: pods without a label selector are all pods: name one", what)
		}
		if _, err := labels.Parse(r.Name); err != nil {
			return fmt.Errorf("%s %q: want a label selector: %w", what, r.Name, err)
		}
		return nil
	}
	var problems []error
	if r.Kind != "" && !slices.Contains(peerKinds, r.Kind) {
		problems = append(problems, fmt.Errorf("%s %q: kind %q: want one of %s", what, r.Name, r.Kind, joinKinds(peerKinds)))
	}
	for _, problem := range validation.IsDNS1123Subdomain(r.Name) {
		problems = append(problems, fmt.Errorf("%s %q: %s", what, r.Name, problem))
	}
	return errors.Join(problems...)
}

// traits are what sets a kind apart.
type traits struct {
	title      string // as in its manifest
	apiVersion string
	resource   kubeclient.Resource
	// ray: its pods are heads and workers of a Ray cluster.
	ray bool
	// healed: somebody else replaces its pods and says when that is in vain. What ends its pods is no evidence; only what
	// keeps them from starting is.
	healed bool
	// drives: it ends, so it can be the driver.
	drives bool
	// suspends: it has spec.suspend.
	suspends bool
	// restarts: somebody makes its pods anew when they are deleted, and nothing else changes.
	restarts bool
	read     func(object) reading
	// selector of its pods, which may depend on the object; the zero object before that is seen.
	selector func(name string, o object) string
}

var peerKinds = []PeerKind{RayCluster, RayJob, JobSet, Job, StatefulSet, Deployment, Pods}

var kindTraits = map[PeerKind]traits{
	RayCluster: {
		title: "RayCluster", apiVersion: "ray.io/v1", resource: kubeclient.RayClusters, ray: true, suspends: true, restarts: true, read: readRayCluster,
		selector: named(labelCluster),
	},
	RayJob: {
		title: "RayJob", apiVersion: "ray.io/v1", resource: kubeclient.Resource{Group: "ray.io", Version: "v1", Plural: "rayjobs"},
		ray: true, drives: true, suspends: true, read: readRayJob,
		selector: func(_ string, o object) string { return labelled(labelCluster, o.rayJobCluster()) },
	},
	JobSet: {
		title: "JobSet", apiVersion: "jobset.x-k8s.io/v1alpha2", resource: kubeclient.Resource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Plural: "jobsets"},
		healed: true, drives: true, suspends: true, read: readJobSet, selector: named("jobset.sigs.k8s.io/jobset-name"),
	},
	Job: {
		title: "Job", apiVersion: "batch/v1", resource: kubeclient.Jobs,
		healed: true, drives: true, suspends: true, read: readJob, selector: named(labelJob),
	},
	StatefulSet: {
		title: "StatefulSet", apiVersion: "apps/v1", resource: kubeclient.Resource{Group: "apps", Version: "v1", Plural: "statefulsets"},
		healed: true, restarts: true, read: readReplicas, selector: ofObject,
	},
	Deployment: {
		title: "Deployment", apiVersion: "apps/v1", resource: kubeclient.Resource{Group: "apps", Version: "v1", Plural: "deployments"},
		healed: true, restarts: true, read: readReplicas, selector: ofObject,
	},
	Pods: {
		title: "pod set", apiVersion: "v1", resource: kubeclient.Pods,
		selector: func(name string, _ object) string { return name },
	},
}

// labelJob is on the pods of a Job; KubeRay's submitter is the Job of a RayJob's name.
const labelJob = "batch.kubernetes.io/job-name"

// traits of a kind that nobody knows are none; New refuses it.
func (r Ref) traits() traits { return kindTraits[cmp.Or(r.Kind, RayCluster)] }

func (r Ref) same(other Ref) bool {
	return r.Name == other.Name && cmp.Or(r.Kind, RayCluster) == cmp.Or(other.Kind, RayCluster)
}

func (r Ref) isRayCluster() bool { return cmp.Or(r.Kind, RayCluster) == RayCluster }

func named(label string) func(string, object) string {
	return func(name string, _ object) string { return labelled(label, name) }
}

func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + "=" + value
}

func ofObject(_ string, o object) string { return o.Spec.Selector.String() }

// kindsThat lists the kinds with a trait.
func kindsThat(has func(traits) bool) []PeerKind {
	return slices.DeleteFunc(slices.Clone(peerKinds), func(k PeerKind) bool { return !has(kindTraits[k]) })
}

func joinKinds(kinds []PeerKind) string {
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = string(kind)
	}
	return strings.Join(words, ", ")
}
