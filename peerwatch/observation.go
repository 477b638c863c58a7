package peerwatch

import (
	"fmt"
	"slices"
	"time"
)

// Observation is everything a decision rests on: the levels as last seen, and the little that must be remembered of
// earlier ones.
type Observation struct {
	// Peers are the clusters of the run, the watcher's own among them.
	Peers    []Peer
	Driver   Driver
	Registry Registry
}

// Peer is one cluster of the run: an object and its pods, or a set of pods. Blind and PodsBlind say why they cannot be
// seen now; what is blind is no evidence.
type Peer struct {
	Ref
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
	// Wish is what it says about that.
	Wish Wish
	// Ended is how it ended by itself, which stays known when it is gone; EndReason is what it said.
	Ended     JobCondition
	EndReason string
	// Holds: its end does not free its pods.
	Holds bool
	// Incarnation changes when it starts its pods anew (a RayJob's cluster). Selector is that of its pods, where that
	// follows from the object.
	Incarnation, Selector string

	// FailureSince is when KubeRay was first seen to be unable to make or delete pods, zero while it is able; Failure is
	// what it says.
	FailureSince time.Time
	Failure      string

	PodsBlind string
	// Heads are head pods of Ray clusters; Workers are all others.
	Heads   []Pod
	Workers []Pod
	// FirstHead is the UID of the first head pod of the first cluster of this name.
	FirstHead string
	// HeadCreated is when that was created.
	HeadCreated time.Time
	// FormerHead is the head pod of before a suspension. Once it is being deleted, or there is another, it is no part of the cluster
	// any more, however long it is seen.
	FormerHead string
	// Former are the pods of before the last restart of the run, Restarted tells that there was one.
	Former    former
	Restarted bool
	// HeadlessSince is since when a cluster that was started again is without a head, zero while it has one.
	HeadlessSince time.Time
	// Groups are the worker groups, or the replicas, or the whole of a set of pods.
	Groups []Group
}

// Group is a group of pods that needs a number of them.
type Group struct {
	Name      string
	Min, Have int
	// Elastic: an autoscaler adds and takes away pods above the minimum.
	Elastic bool
	// Complete remembers that it had them all; ShortSince is when it ceased to, zero while it has them.
	Complete   bool
	ShortSince time.Time
}

func (c Peer) heads() []Pod { return c.own(c.Heads) }

// workers are all pods but heads. While a Ray cluster that was started again has no head yet, nobody knows which of its
// workers have joined the one of before.
func (c Peer) workers() []Pod {
	if c.Restarted && c.traits().ray && c.FirstHead == "" {
		return nil
	}
	return c.own(c.Workers)
}

// own are the pods of the peer itself. An earlier cluster of the same name may still have pods that end, and so may this
// one of before a suspension or a restart.
func (c Peer) own(pods []Pod) []Pod {
	var own []Pod
	for _, pod := range pods {
		former := c.isFormerHead(pod) && (c.Suspended || c.FirstHead != "" || pod.Deleting)
		if c.owns(pod) && !former && !c.isFormer(pod) {
			own = append(own, pod)
		}
	}
	return own
}

// isFormer: a pod of before the last restart; or a worker that KubeRay made after that and before the head, which may have
// joined the head of before while that ended.
func (c Peer) isFormer(pod Pod) bool {
	outlived := c.Restarted && c.traits().ray && c.FirstHead != "" && pod.Created.Before(c.HeadCreated)
	return c.Former.has(pod.UID) || outlived
}

// isFormerHead: the head of before a suspension. It stays the head if that was taken back before KubeRay saw it.
func (c Peer) isFormerHead(pod Pod) bool { return c.FormerHead != "" && pod.UID == c.FormerHead }

// owns: the pods of most kinds belong to something in between, or are selected by labels alone.
func (c Peer) owns(pod Pod) bool {
	return c.Seen && (!c.isRayCluster() || pod.Owner == c.FirstUID)
}

// elastic: one pod of its group more or less says nothing.
func (c Peer) elastic(pod Pod) bool {
	return slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Elastic && g.Name == pod.Group })
}

// usable: the cluster is there to stay.
func (c Peer) usable() bool { return c.Present && !c.Deleting }

// Pod is a pod of a peer or of the driver.
type Pod struct {
	Name, UID string
	// Owner is the UID of its RayCluster, if it has one.
	Owner string
	// Group is its worker group; empty for heads.
	Group string
	// Created is by the API server's clock, and is compared only with that of another pod.
	Created  time.Time
	Deleting bool
	// Disruption says who evicts it.
	Disruption string
	// Failed and Done: the pod's phase; an evicted pod has this and no container that tells.
	Failed, Done bool
	Message      string
	Ready        bool
	// Unstarted: the kubelet has it, and none of its containers has ever run. Nothing is lost when it is deleted to be made again.
	Unstarted  bool
	Containers []Container
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

// JobCondition is how something that ends has ended.
type JobCondition string

// How it ended; empty while it has not.
const (
	Complete JobCondition = "Complete"
	Failed   JobCondition = "Failed"
)

// Driver is the object whose end is the run's: a Job, JobSet or RayJob. Name is empty if the run has none to watch.
type Driver struct {
	Ref
	Blind     string
	Present   bool
	Seen      bool
	UID       string
	Condition JobCondition
	Message   string
	// Wish is what it says about its suspension.
	Wish Wish
	// Holds: its end does not free its pods.
	Holds bool
	// Pods are its own. They are looked at only to say why it failed.
	Pods []Pod
}

// Registry is what the run's ConfigMap says about failure.
type Registry struct {
	Blind string
	// Present: the ConfigMap is there.
	Present bool
	Error   string
	// Incarnation is the current one. Restart is the last one begun, Since when the watcher first saw that, or began.
	Incarnation string
	Restart     Restart
	Since       time.Time
	// StaleError was reported by a pod of before that restart.
	StaleError string
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
	for _, c := range o.Peers {
		add(c.String(), c.Blind)
		add("pods of "+c.Name, c.PodsBlind)
	}
	add("driver "+o.Driver.String(), o.Driver.Blind)
	add("the registry", o.Registry.Blind)
	return spots
}
