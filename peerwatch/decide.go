package peerwatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// OnFailure is what to do when a cluster of the run fails.
type OnFailure string

// The reactions to a failure of a cluster. The driver's end ends the run under each but FailureDryRun.
const (
	// FailureCascade takes the whole run down. The default.
	FailureCascade OnFailure = "cascade"
	// FailureRestart starts all clusters again, as often as MaxRestarts says, and then takes the run down.
	FailureRestart OnFailure = "restart"
	// FailureSignal reports the error to the registry, where the driver and everybody who waits sees it, and deletes nothing.
	FailureSignal OnFailure = "signal"
	// FailureIgnore does nothing.
	FailureIgnore OnFailure = "ignore"
	// FailureDryRun decides as FailureCascade and does nothing at all: it says what it would have done.
	FailureDryRun OnFailure = "dry-run"
)

// OnSuspend is what a suspended cluster means.
type OnSuspend string

// The meanings of a suspension.
const (
	// SuspendWait waits until it is resumed, and judges what comes then as a new start. The default.
	SuspendWait OnSuspend = "wait"
	// SuspendFollow suspends everything else too, and resumes it when nobody wants the suspension any more.
	SuspendFollow OnSuspend = "follow"
	// SuspendFail takes it for a failure.
	SuspendFail OnSuspend = "fail"
)

// Policy says what to react to, how, and how patiently.
type Policy struct {
	OnFailure OnFailure
	OnSuspend OnSuspend
	// StartupGrace is how long a cluster may be absent before that is a failure. It covers queueing and operators
	// that start late. Default 20 minutes.
	StartupGrace time.Duration
	// UnreadyGrace is how long a head that was ready may be unready before that is a failure. It covers a slow probe
	// and a node that blinks; what cannot heal (a restart, a replaced pod) fails at once. Default 2 minutes.
	UnreadyGrace time.Duration
	// StuckGrace is how long a pod may be unable to start (an image that cannot be pulled, an init container that fails)
	// and KubeRay unable to make pods, before that is a failure. It covers a registry that is away. Default 5 minutes.
	StuckGrace time.Duration
	// UnschedulableGrace is how long a pod may find no node before that is a failure. 0, the default, is StartupGrace.
	UnschedulableGrace time.Duration
	// MaxRestarts is how often FailureRestart starts the run again. Default 3.
	MaxRestarts int
	// RestartBackoff is how long the first attempt after a restart must have lasted before the next restart; it doubles
	// each time, up to RestartBackoffMax. Default 10 seconds and 5 minutes.
	RestartBackoff, RestartBackoffMax time.Duration
	// Sidecars are the containers whose restarts say nothing about Ray. Default peerwatch, registry and KubeRay's
	// autoscaler.
	Sidecars []string
}

// DefaultPolicy is what the fields' comments say.
func DefaultPolicy() Policy {
	return Policy{
		OnFailure: FailureCascade, OnSuspend: SuspendWait,
		StartupGrace: 20 * time.Minute, UnreadyGrace: 2 * time.Minute, StuckGrace: 5 * time.Minute,
		MaxRestarts: 3, RestartBackoff: 10 * time.Second, RestartBackoffMax: 5 * time.Minute,
		Sidecars: []string{"peerwatch", "registry", "autoscaler"},
	}
}

// grace is how long a trouble of a pod is waited out.
func (p Policy) grace(t Trouble) time.Duration {
	switch t {
	case Unschedulable:
		return cmp.Or(p.UnschedulableGrace, p.StartupGrace)
	case Stuck:
		return p.StuckGrace
	default:
		return p.UnreadyGrace
	}
}

// Kind is what to do.
type Kind int

// The kinds of Action.
const (
	// Wait: nothing is wrong. Look again on a change, or at Action.At.
	Wait Kind = iota
	// Blind: nothing seen is wrong, and something cannot be seen. As Wait, but not fit to be called healthy.
	Blind
	// Signal: a cluster has failed. Report it and go on watching.
	Signal
	// Suspend what is not suspended yet, because something is.
	Suspend
	// Resume what was suspended only to follow something else.
	Resume
	// RestartRun starts all clusters again, or finishes that.
	RestartRun
	// Succeed: the driver finished well. Take everything down and report no failure.
	Succeed
	// Fail: the run has failed. Report and take everything down.
	Fail
)

func (k Kind) String() string {
	return [...]string{"wait", "blind", "signal", "suspend", "resume", "restart", "succeed", "fail"}[k]
}

// Action is a decision.
type Action struct {
	Kind Kind
	// Reason is a sentence for people: what happened to which object.
	Reason string
	// At is when the decision may change although nothing else does; zero if it will not.
	At time.Time

	begins int // the number of the restart that RestartRun begins; 0: it finishes one
}

func failed(format string, args ...any) *Action {
	return &Action{Kind: Fail, Reason: fmt.Sprintf(format, args...)}
}

// Decide says what to do about obs at now. The order is the order of causes: a removal explains everything; a finished driver explains why peers go;
// a reported error was the first; a head that failed explains why the driver did.
func Decide(p Policy, obs Observation, now time.Time) Action {
	if obs.Registry.Removing {
		return Action{Kind: Wait, Reason: "the run is being removed"}
	}
	if obs.Driver.Condition == Complete {
		return Action{Kind: Succeed, Reason: fmt.Sprintf("driver %s is complete", obs.Driver)}
	}
	cause, waiting := judge(p, obs, now)
	end := judgeDriver(obs.Driver)
	switch {
	case cause != nil && (end != nil || p.cascades()):
		return *cause
	case end != nil:
		return *end
	case p.OnFailure == FailureRestart:
		if again := restart(p, obs, cause, now); again != nil {
			return *again
		}
	case cause != nil && p.OnFailure == FailureSignal && obs.Registry.Error == "":
		return Action{Kind: Signal, Reason: cause.Reason}
	}
	if following := follow(p, obs); following != nil {
		return *following
	}
	if blind := obs.blindSpots(); len(blind) > 0 {
		return Action{Kind: Blind, Reason: "cannot see " + strings.Join(blind, "; "), At: waiting.At}
	}
	waiting.Reason = idle(p, obs, cause)
	return waiting
}

func (p Policy) cascades() bool { return p.OnFailure == FailureCascade || p.OnFailure == FailureDryRun }

// judge returns what failed first, and until when to wait if nothing did.
func judge(p Policy, obs Observation, now time.Time) (cause *Action, waiting Action) {
	if obs.Registry.Error != "" {
		return &Action{Kind: Fail, Reason: obs.Registry.Error}, waiting
	}
	for _, c := range obs.Peers {
		switch verdict := judgePeer(p, c, now); {
		case verdict == nil:
		case verdict.Kind == Fail:
			return verdict, waiting
		default:
			waiting = sooner(waiting, *verdict)
		}
	}
	return nil, waiting
}

// idle says why nothing is done although something is out of the ordinary.
func idle(p Policy, obs Observation, cause *Action) string {
	if cause != nil {
		return map[OnFailure]string{FailureSignal: "signalled: ", FailureIgnore: "ignored: "}[p.OnFailure] + cause.Reason
	}
	for _, c := range obs.Peers {
		if c.Suspended {
			return fmt.Sprintf("%s is suspended", c)
		}
	}
	return ""
}

// sooner is the one of two waits that ends first.
func sooner(a, b Action) Action {
	if a.At.IsZero() || b.At.Before(a.At) {
		return b
	}
	return a
}

func judgeDriver(d Driver) *Action {
	switch {
	case d.Blind != "" || d.Name == "":
		return nil
	case d.Condition == Failed:
		return failed("driver %s failed: %s", d, d.why())
	case d.Seen && !d.Present:
		return failed("driver %s was deleted before it finished", d)
	}
	return nil
}

// why says how the driver failed: what the Job says, and what ended in its last pod.
func (d Driver) why() string {
	reasons := []string{d.Message}
	for _, pod := range d.Pods {
		for _, container := range pod.Containers {
			if what := container.failure(); what != "" {
				reasons = append(reasons, fmt.Sprintf("container %q of pod %s %s", container.Name, pod.Name, what))
			}
		}
	}
	return strings.Join(reasons, "; ")
}

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
	var verdicts []*Action
	for _, pod := range heads {
		if !c.Self || !pod.Deleting {
			verdicts = append(verdicts, judgeHead(p, c, pod, now))
		}
	}
	return worst(verdicts...)
}

func judgeHead(p Policy, c Peer, pod Pod, now time.Time) *Action {
	if pod.UID != c.FirstHead {
		return failed("head pod of %s was replaced by %s", c, pod.Name)
	}
	return judgePod(p, c, pod, "head pod", now)
}

// judgeWorkers looks at the pods of a cluster that is there to stay: its size is fixed, so each of them is missed.
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
	if pod.Deleting {
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
