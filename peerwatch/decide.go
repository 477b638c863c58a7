package peerwatch

import (
	"fmt"
	"strings"
	"time"
)

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
