package peerwatch

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Testament is what a watcher that is told to stop has to say.
type Testament int

// The testaments.
const (
	// Unclear: it is not known why the watcher is stopped. Look again.
	Unclear Testament = iota
	// Silent: nobody fails; or somebody has said so, or will see it.
	Silent
	// Tell the peers that the pod is being ended.
	Tell
)

func (t Testament) String() string { return [...]string{"look again", "nothing", "tell"}[t] }

// bequeath says whether the end of the watcher's own pod is a failure of its cluster that its peers should hear of, and
// the sentence. It is a pure function. The peers see the pod go as well, unless they are blind just then.
func bequeath(p Policy, obs Observation, podName string) (Testament, string) {
	switch {
	case !slices.Contains([]OnFailure{FailureCascade, FailureRestart, FailureSignal}, p.OnFailure):
		return Silent, ""
	case obs.Registry.Blind != "" || obs.Driver.Blind != "":
		return Unclear, ""
	case obs.Registry.Removing || !obs.Registry.Present || obs.Registry.Error != "" || obs.Driver.Condition != "":
		return Silent, ""
	}
	for _, c := range obs.Peers {
		if c.Self {
			return c.bequeath(p, podName)
		}
	}
	return Silent, ""
}

func (c Peer) bequeath(p Policy, podName string) (Testament, string) {
	switch {
	case c.traits().healed || c.Ended != "":
		return Silent, ""
	case c.Blind != "" || c.PodsBlind != "":
		return Unclear, ""
	case !c.usable() || c.UID != c.FirstUID || c.Suspended:
		return Silent, ""
	}
	if slices.ContainsFunc(c.Heads, func(pod Pod) bool { return pod.Name == podName && c.isFormer(pod) }) {
		return Silent, "" // the run is being started again
	}
	what, pods := "head pod", c.heads()
	if c.Kind == Pods {
		what, pods = "pod", c.named(podName)
	}
	for _, pod := range pods {
		if (podName == "" || pod.Name == podName) && pod.ends(p) {
			return Tell, because(fmt.Sprintf("%s %s of %s is being terminated", what, pod.Name, c), pod.Disruption)
		}
	}
	return Unclear, "" // the container alone may have been stopped, or the kubelet has not told yet
}

// named are the pods of a name: of a set of pods only the watcher's own is its business.
func (c Peer) named(name string) []Pod {
	return slices.DeleteFunc(slices.Clone(c.Workers), func(pod Pod) bool { return pod.Name != name })
}

// ends: the pod goes, and not only one of its sidecars.
func (p Pod) ends(policy Policy) bool {
	ended := func(c Container) bool { return c.Exit != nil }
	return p.Deleting || p.Failed || p.Disruption != "" || slices.ContainsFunc(p.mains(policy), ended)
}

// Bounds of the last words: a pod has 30 seconds from SIGTERM, of which its main containers may take most.
const (
	lastWordsWithin = 5 * time.Second
	lastLookAfter   = 500 * time.Millisecond
)

// lastWords are said after ctx has ended, if there is something to say. What cannot be learned in time is not said.
func (w *Watcher) lastWords(ctx context.Context, obs Observation) []Step {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWordsWithin)
	defer cancel()
	for {
		fresh, err := w.look(ctx, obs)
		testament, reason := bequeath(w.cfg.Policy, fresh, w.cfg.Pod.Pod)
		switch {
		case err == nil && testament == Silent:
			return nil
		case err == nil && testament == Tell:
			return []Step{w.step(ctx, w.reporting(reason))}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lastLookAfter):
		}
	}
}
