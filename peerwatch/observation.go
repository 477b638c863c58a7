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

	// FailureSince is when KubeRay was first seen to be unable to make or delete pods, zero while it is able; Failure is
	// what it says.
	FailureSince time.Time
	Failure      string

	PodsBlind string
	Heads     []Pod
	Workers   []Pod
	// FirstHead is the UID of the first head pod of the first cluster of this name.
	FirstHead string
	// FormerHead is the head pod of before a suspension. It is no part of the cluster any more, however long it is seen.
	FormerHead string
	// Groups are the worker groups.
	Groups []Group
}

// Group is a group of workers that needs a number of them.
type Group struct {
	Name      string
	Min, Have int
	// Complete remembers that it had them all; ShortSince is when it ceased to, zero while it has them.
	Complete   bool
	ShortSince time.Time
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
	Owner string
	// Group is its worker group; empty for heads.
	Group    string
	Deleting bool
	// Disruption says who evicts it.
	Disruption string
	// Failed and Done: the pod's phase; an evicted pod has this and no container that tells.
	Failed, Done bool
	Message      string
	Ready        bool
	Containers   []Container
	// Trouble may pass by itself. TroubleSince is when the watcher first saw it. Trying: what failed runs again just now.
	Trouble      Trouble
	TroubleText  string
	TroubleSince time.Time
	Trying       bool
}

// alive: it is there and is to stay.
func (p Pod) alive() bool { return !p.Deleting && !p.Failed && !p.Done }

// Trouble is what may pass by itself, and is a failure when it lasts.
type Trouble string

// The kinds of trouble.
const (
	// Unschedulable: the scheduler finds no node.
	Unschedulable Trouble = "unschedulable"
	// Stuck: an image or the configuration of a container is missing, or an init container fails.
	Stuck Trouble = "stuck"
	// Lost: the node is silent, or an eviction was announced.
	Lost Trouble = "lost"
)

// Container is one of a pod's main containers.
type Container struct {
	Name     string
	Restarts int
	// Exit is how it ended last, nil if it did not.
	Exit *Exit
	// Again: it was started again since, or is about to be. CrashLoops: the latter, and not for the first time.
	Again      bool
	CrashLoops bool
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
	// Present: the ConfigMap is there.
	Present bool
	Error   string
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
