package peerwatch

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// judgePeer returns a failure, a wait with a deadline, or nil.
func judgePeer(p Policy, c Peer, now time.Time) *Action {
	if c.Ended == Complete {
		return nil
	}
	if verdict := judgeObject(p, c, now); verdict != nil {
		return verdict
	}
	if c.Suspended {
		return judgeSuspension(p, c)
	}
	return worst(judgeHeads(p, c, now), judgeWorkers(p, c, now), judgeGroups(p, c, now), judgeReplicas(p, c, now), judgeReadiness(p, c, now))
}

// worst is the first failure, else the wait that ends first. The verdicts are in the order of causes.
func worst(verdicts ...*Action) *Action {
	var wait *Action
	for _, verdict := range verdicts {
		switch {
		case verdict == nil:
		case verdict.Kind == Fail:
			return verdict
		case wait == nil || verdict.At.Before(wait.At):
			wait = verdict
		}
	}
	return wait
}

// judgeObject looks at the object itself. A watcher's own cluster going away is for its peers to judge.
func judgeObject(p Policy, c Peer, now time.Time) *Action {
	switch {
	case c.Blind != "" || (c.Self && !c.usable()):
		return nil
	case c.Ended == Failed:
		return failed("%s failed: %s", c, c.EndReason)
	case !c.Seen && !c.Present:
		return graceful(c.Since.Add(p.StartupGrace), now, failed(
			"%s has not appeared within %s", c, p.StartupGrace))
	case c.Seen && !c.Present:
		return failed("%s is gone", c)
	case c.UID != c.FirstUID:
		return failed("%s was replaced (UID %s, was %s)", c, c.UID, c.FirstUID)
	case c.Deleting && !c.Self:
		return failed("%s is being deleted", c)
	}
	return nil
}

// judgeSuspension: the pods of a suspended cluster go, and nobody did anything wrong.
func judgeSuspension(p Policy, c Peer) *Action {
	if p.OnSuspend == SuspendFail && !c.Self && c.Blind == "" {
		return failed("%s is suspended", c)
	}
	return nil
}

// judgeHeads looks at the head pods. What happens to the pods of a watcher's own cluster while that goes away is no
// evidence, nor is the deletion of the pod it runs in.
func judgeHeads(p Policy, c Peer, now time.Time) *Action {
	if c.PodsBlind != "" || (c.Self && !c.usable()) {
		return nil
	}
	heads := c.heads()
	if c.FirstHead != "" && len(heads) == 0 && !c.Self {
		return failed("head pod of %s is gone", c)
	}
	if !c.HeadlessSince.IsZero() && c.Blind == "" && !c.Self {
		return graceful(c.HeadlessSince.Add(p.StartupGrace), now, failed("%s has had no head pod for %s since it was started again", c, p.StartupGrace))
	}
	var verdicts []*Action
	for _, pod := range heads {
		if !c.Self || !pod.Deleting {
			verdicts = append(verdicts, judgeHead(p, c, pod, now))
		}
	}
	return worst(verdicts...)
}

func judgeHead(p Policy, c Peer, pod Pod, now time.Time) *Action {
	if c.FirstHead != "" && pod.UID != c.FirstHead {
		return failed("head pod of %s was replaced by %s", c, pod.Name)
	}
	return judgePod(p, c, pod, "head pod", now)
}

// judgeWorkers looks at the pods of a cluster that is there to stay. Each of them is missed, but for those of a group that
// an autoscaler sizes, of which only the number counts.
// Their readiness is left to Ray: a head says how its cluster is.
func judgeWorkers(p Policy, c Peer, now time.Time) *Action {
	if c.PodsBlind != "" || c.Blind != "" || !c.usable() {
		return nil
	}
	what := "pod"
	if c.traits().ray {
		what = "worker pod"
	}
	var verdicts []*Action
	for _, pod := range c.workers() {
		if c.elastic(pod) {
			continue
		}
		verdicts = append(verdicts, judgePod(p, c, pod, what, now))
	}
	return worst(verdicts...)
}

// judgeGroups looks for pods that vanished without being seen to end, and for replicas that are missing.
func judgeGroups(p Policy, c Peer, now time.Time) *Action {
	if c.PodsBlind != "" || c.Blind != "" || !c.usable() {
		return nil
	}
	var verdicts []*Action
	for _, g := range c.Groups {
		if g.Complete && !g.ShortSince.IsZero() {
			verdicts = append(verdicts, graceful(g.ShortSince.Add(p.UnreadyGrace), now, failed("%s for %s", g.short(c), p.UnreadyGrace)))
		}
	}
	return worst(verdicts...)
}

func (g Group) short(c Peer) string {
	if g.Name == groupReplicas || g.Name == groupPods {
		return fmt.Sprintf("%s has had %d of %d %s", c, g.Have, g.Min, g.Name)
	}
	return fmt.Sprintf("worker group %q of %s has had %d of %d workers", g.Name, c, g.Have, g.Min)
}

// because appends a reason, if there is one.
func because(what, why string) string { return strings.TrimSuffix(what+": "+why, ": ") }

// judgePod looks at how a pod and its containers ended, unless somebody else sees to that, and at what keeps it from running.
func judgePod(p Policy, c Peer, pod Pod, what string, now time.Time) *Action {
	if !c.traits().healed {
		if verdict := judgeEnd(p, c, pod, what); verdict != nil {
			return verdict
		}
	}
	ignored := c.traits().healed && (pod.Trouble == Lost || !pod.alive())
	if pod.Trouble == "" || pod.Trying || ignored {
		return nil
	}
	grace := p.grace(pod.Trouble)
	return graceful(pod.TroubleSince.Add(grace), now, failed(
		"%s %s of %s has been %s for %s: %s", what, pod.Name, c, pod.Trouble, grace, pod.TroubleText))
}

func judgeEnd(p Policy, c Peer, pod Pod, what string) *Action {
	if pod.Deleting && !pod.Unstarted {
		return failed("%s", because(fmt.Sprintf("%s %s of %s is being deleted", what, pod.Name, c), pod.Disruption))
	}
	for _, container := range pod.Containers {
		if how := container.failure(); how != "" && !slices.Contains(p.Sidecars, container.Name) {
			return failed("container %q of %s %s of %s %s", container.Name, what, pod.Name, c, how)
		}
	}
	if pod.Failed {
		return failed("%s %s of %s failed: %s", what, pod.Name, c, pod.Message)
	}
	return nil
}

// failure says how a container failed; empty if it did not. A restarted head has lost its Ray cluster, and a restarted
// worker what ran on it, whatever the exit code.
func (c Container) failure() string {
	switch {
	case c.Restarts > 0 && c.Exit != nil:
		return fmt.Sprintf("restarted (%s)", c.Exit)
	case c.Restarts > 0:
		return "restarted"
	case c.CrashLoops && c.Exit != nil:
		return fmt.Sprintf("is in %s (%s)", crashLoop, c.Exit)
	case c.Exit != nil && c.Exit.Code != 0:
		return fmt.Sprintf("terminated (%s)", c.Exit)
	}
	return ""
}

// judgeReplicas: KubeRay removes its condition as soon as it is able again.
func judgeReplicas(p Policy, c Peer, now time.Time) *Action {
	if c.Blind != "" || c.FailureSince.IsZero() || !c.usable() {
		return nil
	}
	return graceful(c.FailureSince.Add(p.StuckGrace), now, failed(
		"%s has been unable to make or delete pods for %s: %s", c, p.StuckGrace, c.Failure))
}

func judgeReadiness(p Policy, c Peer, now time.Time) *Action {
	if c.Blind != "" || !c.WasReady || c.UnreadySince.IsZero() || !c.usable() {
		return nil
	}
	return graceful(c.UnreadySince.Add(p.UnreadyGrace), now, failed(
		"head of %s has been unready for %s: %s", c, p.UnreadyGrace, c.UnreadyReason))
}

// graceful is verdict once the deadline has passed, and a wait until then.
func graceful(deadline, now time.Time, verdict *Action) *Action {
	if now.Before(deadline) {
		return &Action{Kind: Wait, At: deadline}
	}
	return verdict
}
