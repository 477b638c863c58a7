package peerwatch

import (
	"cmp"
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

// backoff is how long the attempt that follows n restarts must have lasted before it is given up: nothing at first, then
// twice as long each time. Like that of a container, it is not noticed by a run that fails rarely.
func (p Policy) backoff(n int) time.Duration {
	if n == 0 {
		return 0
	}
	wait := p.RestartBackoff
	for range n - 1 {
		wait = min(2*wait, p.RestartBackoffMax)
	}
	return wait
}
