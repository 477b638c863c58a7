package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (f *Failure) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if f.StartupGrace.Duration <= 0 {
		errs = append(errs, field.Invalid(at.Child("startupGrace"), f.StartupGrace.Duration.String(), "must be longer than zero: it bounds every wait at start"))
	}
	if f.UnreadyGrace.Duration <= 0 {
		errs = append(errs, field.Invalid(at.Child("unreadyGrace"), f.UnreadyGrace.Duration.String(), "must be longer than zero"))
	}
	errs = append(errs, countable(at.Child("startupGrace"), &f.StartupGrace)...)
	return append(errs, f.validateRestarts(at)...)
}

func (f *Failure) validateRestarts(at *field.Path) field.ErrorList {
	restarts := at.Child("maxRestarts")
	switch {
	case f.MaxRestarts < 0:
		return field.ErrorList{field.Invalid(restarts, f.MaxRestarts, "must not be negative")}
	case f.OnPeerFailure == PeerFailureRestart && f.MaxRestarts == 0:
		return field.ErrorList{field.Required(restarts, "how often the clusters are started again before the run fails; onPeerFailure is restart")}
	case f.OnPeerFailure != PeerFailureRestart && f.MaxRestarts > 0:
		return field.ErrorList{field.Invalid(restarts, f.MaxRestarts, "nothing restarts the run: set onPeerFailure: restart, or remove it")}
	}
	return nil
}

// validateReaction checks what the backend can do.
func (s *Spec) validateReaction(at *field.Path) field.ErrorList {
	reaction, path := s.Failure.OnPeerFailure, at.Child("onPeerFailure")
	errs := oneOf(path, reaction, PeerFailureCascade, PeerFailureRestart, PeerFailureSignal, PeerFailureIgnore)
	errs = append(errs, oneOf(at.Child("onSuspend"), s.Failure.OnSuspend, SuspendWait, SuspendFollow, SuspendFail)...)
	switch {
	case len(errs) > 0:
	case s.Backend == BackendJobSet && (reaction == PeerFailureSignal || reaction == PeerFailureIgnore):
		errs = append(errs, field.Invalid(path, reaction, "a JobSet fails as a whole: leave it at cascade, or set backend: raycluster"))
	case s.Backend == BackendRayJob && reaction == PeerFailureRestart:
		errs = append(errs, field.Invalid(path, reaction, "a RayJob starts its cluster again by itself: set driver.retries, or backend: raycluster"))
	case s.Backend == BackendJobSet && s.Failure.OnSuspend != SuspendWait:
		errs = append(errs, field.Invalid(at.Child("onSuspend"), s.Failure.OnSuspend, "a JobSet is suspended as a whole: leave it at wait, or set backend: raycluster"))
	}
	return errs
}
