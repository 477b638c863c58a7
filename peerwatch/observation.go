package peerwatch

import (
	"fmt"
	"time"
)

// Observation is everything a decision rests on: the levels as last seen, and the little that must be remembered of
// earlier ones.
type Observation struct {
	// Clusters are the run's RayClusters, the watcher's own among them.
	Clusters []Cluster
	Driver   Driver
	Registry Registry
}

// Cluster is one RayCluster and its pods. Blind and PodsBlind say why they cannot be seen now; what is blind is no
// evidence.
type Cluster struct {
	Name string
	Self bool

	Blind    string
	Present  bool
	UID      string
	Deleting bool
	// Since is when the watcher began to look; Seen and FirstUID are what it saw first.
	Since    time.Time
	Seen     bool
	FirstUID string
	// WasReady remembers that the head was ready; UnreadySince is when it ceased to be, zero while it is ready, and
	// UnreadySpell tells one such time from the next.
	WasReady      bool
	UnreadySince  time.Time
	UnreadySpell  string
	UnreadyReason string

	// Suspended: somebody (Kueue, a person) has asked for it, or it is being done or undone.
	Suspended bool

	PodsBlind string
	Heads     []Pod
	Workers   []Pod
	// FirstHead is the UID of the first head pod of the first cluster of this name.
	FirstHead string
	// FormerHead is the head pod of before a suspension. It is no part of the cluster any more, however long it is seen.
	FormerHead string
}

func (c Cluster) heads() []Pod   { return c.own(c.Heads) }
func (c Cluster) workers() []Pod { return c.own(c.Workers) }

// own are the pods of the cluster itself. An earlier cluster of the same name may still have pods that end, and so may
// this one of before a suspension.
func (c Cluster) own(pods []Pod) []Pod {
	var own []Pod
	for _, pod := range pods {
		former := c.FormerHead != "" && pod.UID == c.FormerHead
		if c.Seen && pod.Owner == c.FirstUID && !former {
			own = append(own, pod)
		}
	}
	return own
}

// usable: the cluster is there to stay.
func (c Cluster) usable() bool { return c.Present && !c.Deleting }

// Pod is a pod of a RayCluster or of the driver Job.
type Pod struct {
	Name, UID string
	// Owner is the UID of its RayCluster.
	Owner    string
	Deleting bool
	// Failed: the pod's phase; an evicted pod has this and no container that tells.
	Failed     bool
	Message    string
	Containers []Container
}

// Container is one of a pod's main containers.
type Container struct {
	Name     string
	Restarts int
	// Exit is how it ended last, nil if it did not.
	Exit *Exit
	// Again: it was started again since, or is about to be.
	Again bool
}

// Exit is how a container ended.
type Exit struct {
	Code   int
	Reason string
}

func (e Exit) String() string {
	if e.Reason == "" {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return fmt.Sprintf("exit code %d, %s", e.Code, e.Reason)
}

// JobCondition is how a Job ended.
type JobCondition string

// How a Job ended; empty while it has not.
const (
	Complete JobCondition = "Complete"
	Failed   JobCondition = "Failed"
)

// Driver is the driver Job. Name is empty if the run has none to watch.
type Driver struct {
	Name      string
	Blind     string
	Present   bool
	Seen      bool
	UID       string
	Condition JobCondition
	Message   string
	// Pods are the Job's. They are looked at only to say why it failed.
	Pods []Pod
}

// Registry is what the run's ConfigMap says about failure.
type Registry struct {
	Blind string
	Error string
	// Removing: somebody removes the run. The ConfigMap goes last, and what it said stays known.
	Removing bool
}

// blindSpots lists what cannot be seen and why.
func (o Observation) blindSpots() []string {
	var spots []string
	add := func(what, why string) {
		if why != "" {
			spots = append(spots, what+": "+why)
		}
	}
	for _, c := range o.Clusters {
		add("RayCluster "+c.Name, c.Blind)
		add("pods of "+c.Name, c.PodsBlind)
	}
	add("driver Job "+o.Driver.Name, o.Driver.Blind)
	add("the registry", o.Registry.Blind)
	return spots
}
