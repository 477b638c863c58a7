package reap

import "time"

// Observation is everything a decision rests on.
type Observation struct {
	Pods []Pod
	Book Book
	// BookBlind says why the book cannot be read now.
	BookBlind string
}

// Pod is one incarnation of a pod.
type Pod struct {
	Name, UID string
	// Node is empty while the pod is queued.
	Node string
	// Scheduled is when it was bound to the node.
	Scheduled time.Time
	// Preparing: it has a node, nothing of it has ever started, and what it waits for comes before its sandbox is ready.
	Preparing bool
	Deleting  bool
	// Gang is what its deletions count for, across incarnations: its PodGroup, else its run, else its owner.
	Gang string
	// Returns: somebody makes it again, and not only for the same node.
	Returns bool
	// Tolerates: the taint of an excluded node does not keep it away.
	Tolerates bool
	// Cause is what its Events name. Blind says why they cannot be read now.
	Cause Cause
	Blind string
}

// Cause is the newest Event that names a cause; the zero value is none.
type Cause struct {
	Reason, Note string
	Last         time.Time
	// Over: a later Event shows that the sandbox is there. Kubelets before 1.29 do not say so in the pod's status.
	Over bool
	// Warning is the kubelet's last about something else; it is for people only.
	Warning string
}

// suspect tells whether the pod has been preparing for too long, and if it prepares at all, when that will be.
func (p Pod) suspect(policy Policy, now time.Time) (suspect bool, at time.Time) {
	if !p.Preparing || p.Deleting {
		return false, time.Time{}
	}
	at = p.Scheduled.Add(policy.StuckAfter)
	return !now.Before(at), at
}
