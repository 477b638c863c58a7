package peerwatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// RestartAnnotation of the run's ConfigMap holds a [Restart] as JSON.
const RestartAnnotation = "tandem.dev/restart"

// Restart is the last restart of a run that was begun. It is written with the resourceVersion that it was decided on, so
// that any number of watchers count one.
type Restart struct {
	// Count is its number, from 1.
	Count int `json:"count"`
	// Incarnation is the registry's from then on.
	Incarnation string `json:"incarnation"`
	// Reason is why.
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
	// Former are the pods of before, by the first characters of their UIDs. They are deleted and not looked at any more.
	Former []string `json:"former"`
}

// uidPrefix tells pods of one run apart, and keeps a list of hundreds short.
const uidPrefix = 13

func shortUID(uid string) string { return uid[:min(len(uid), uidPrefix)] }

// former is a set of pods, by shortUID. It is never changed.
type former map[string]bool

func (f former) has(uid string) bool { return f[shortUID(uid)] }

// formers are the pods of before.
func (r Restart) formers() former {
	set := former{}
	for _, uid := range r.Former {
		set[uid] = true
	}
	return set
}

// reasonBytes keeps the record small: somebody may report a whole log as the error, and annotations have a limit.
const reasonBytes = 1024

// finishAfter is how long whoever began a restart is left alone with it. He reads logs before he deletes pods.
const finishAfter = 5 * time.Second

// restart decides about a failure under the policy restart; cause is nil if there is none. It is a pure function.
func restart(p Policy, obs Observation, cause *Action, now time.Time) *Action {
	r := obs.Registry
	if left := obs.unfinished(); left != "" {
		again := &Action{Kind: RestartRun, Reason: fmt.Sprintf("restart %d is not finished: %s", r.Restart.Count, left)}
		if !now.Before(r.Since.Add(p.StartupGrace)) {
			again = failed("restart %d could not be finished within %s: %s", r.Restart.Count, p.StartupGrace, left)
		}
		return graceful(r.Since.Add(finishAfter), now, again)
	}
	if cause == nil {
		return nil
	}
	if verdict := obs.beyondRestart(p, now); verdict != nil {
		return verdict
	}
	next := r.Restart.Count + 1
	if next > p.MaxRestarts {
		return failed("%s (after %d of %d restarts)", cause.Reason, r.Restart.Count, p.MaxRestarts)
	}
	if !r.Present && r.Blind == "" {
		return failed("%s (a restart cannot be counted: the registry is gone)", cause.Reason)
	}
	if blind := obs.blindSpots(); len(blind) > 0 {
		return &Action{Kind: Blind, Reason: fmt.Sprintf("cannot restart after %q: cannot see %s", cause.Reason, strings.Join(blind, "; "))}
	}
	if at := r.Since.Add(p.backoff(r.Restart.Count)); now.Before(at) {
		return &Action{Kind: Wait, Reason: fmt.Sprintf("restart %d of %d waits: %s", next, p.MaxRestarts, cause.Reason), At: at}
	}
	return &Action{Kind: RestartRun, Reason: cause.Reason, begins: next}
}

// beyondRestart is a failure that other pods do not mend: a cluster itself is gone. When it is the watcher's own, the
// peers see to it.
func (o Observation) beyondRestart(p Policy, now time.Time) *Action {
	for _, c := range o.Peers {
		if c.Ended == Complete {
			continue
		}
		if c.Self && c.Blind == "" && !c.usable() {
			return &Action{Kind: Wait, Reason: fmt.Sprintf("%s goes", c)}
		}
		if verdict := judgeObject(p, c, now); verdict != nil && verdict.Kind == Fail {
			return verdict
		}
		if c.Suspended {
			if verdict := judgeSuspension(p, c); verdict != nil {
				return verdict
			}
		}
	}
	return nil
}

// unfinished says what is left of a restart that was begun, by whomever; empty if nothing is.
func (o Observation) unfinished() string {
	switch r := o.Registry; {
	case r.Restart.Count == 0 || !r.Present || r.Blind != "":
		return ""
	case r.Incarnation != r.Restart.Incarnation:
		return fmt.Sprintf("the registry is at incarnation %q, not %q", r.Incarnation, r.Restart.Incarnation)
	case r.StaleError != "":
		return "a pod of before has reported: " + r.StaleError
	}
	if pods := o.formerPods(); len(pods) > 0 {
		return fmt.Sprintf("pod %s of before is there", pods[0].Name)
	}
	return ""
}

// formerPods are those that still have to be deleted.
func (o Observation) formerPods() []Pod {
	var list []Pod
	for _, c := range o.Peers {
		for _, pod := range slices.Concat(c.Heads, c.Workers) {
			if c.owns(pod) && c.isFormer(pod) && !pod.Deleting {
				list = append(list, pod)
			}
		}
	}
	return list
}

// foldRestart takes over a restart that was not known: what is known of the pods of before is forgotten, and the next
// heads are first heads.
func (o Observation) foldRestart(now time.Time) Observation {
	f := o.Registry.Restart.formers()
	o.Registry.Since = now
	for i := range o.Peers {
		o.change(i, func(c Peer) Peer {
			c.Former, c.FirstHead, c.FormerHead = f, "", ""
			c.Restarted, c.HeadlessSince = true, time.Time{}
			return c.unready().rememberHead().countWorkers(now).awaitHead(now)
		})
	}
	return o
}

// plan is the restart that follows the last one.
func (o Observation) plan(reason string, number int, now time.Time) Restart {
	uids := map[string]bool{}
	for _, c := range o.Peers {
		for _, pod := range slices.DeleteFunc(slices.Concat(c.Heads, c.Workers), func(pod Pod) bool { return !c.owns(pod) }) {
			uids[shortUID(pod.UID)] = true
		}
	}
	return Restart{
		Count: number, Incarnation: fmt.Sprintf("restart-%d", number), Reason: clip(reason, reasonBytes), Time: now.UTC(),
		Former: slices.Sorted(maps.Keys(uids)),
	}
}
