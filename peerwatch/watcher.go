package peerwatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
	"github.com/tandem-rl/tandem/registry"
)

// Config says what to watch.
type Config struct {
	// Run and Namespace name the run, as for the registry. Prefix is the registry's.
	Run, Namespace, Prefix string
	// Self is the cluster that the watcher belongs to, Peers are the run's others.
	Self  Ref
	Peers []Ref
	// Driver is the Job, JobSet or RayJob whose end is the run's, which may be one of the clusters too; empty if there is
	// none.
	Driver Ref
	// Pod names the watcher's pod; it is recorded with a reported error. May be empty.
	Pod registry.Publisher
	// Shards is the number of the registry's shards, which a restart empties too.
	Shards int
	Policy Policy
	// StepTimeout bounds each step of a cascade; default 25 seconds, which a pod has after SIGTERM.
	StepTimeout time.Duration
	// Observer is told what is decided and done; default nobody.
	Observer Observer
}

const defaultStepTimeout = 25 * time.Second

// validate reports every problem at once.
func (c Config) validate() error {
	var problems []error
	problems = append(problems, c.Self.validate("self"))
	for i, peer := range c.Peers {
		problems = append(problems, peer.validate("peer"))
		if peer.same(c.Self) || slices.ContainsFunc(c.Peers[:i], peer.same) {
			problems = append(problems, fmt.Errorf("peer %s is named twice, or is the watcher's own cluster: name every other cluster once", peer))
		}
	}
	if d := c.Driver; d != (Ref{}) {
		problems = append(problems, d.validate("driver"))
		if !d.traits().drives {
			kinds := joinKinds(kindsThat(func(t traits) bool { return t.drives }))
			problems = append(problems, fmt.Errorf("driver %s: want one of %s", d, kinds))
		}
	}
	if p := c.Policy.OnFailure; !slices.Contains([]OnFailure{FailureCascade, FailureRestart, FailureSignal, FailureIgnore, FailureDryRun}, p) {
		problems = append(problems, fmt.Errorf("policy %q: want cascade, restart, signal, ignore or dry-run", p))
	}
	if s := c.Policy.OnSuspend; !slices.Contains([]OnSuspend{SuspendWait, SuspendFollow, SuspendFail}, s) {
		problems = append(problems, fmt.Errorf("policy of suspended clusters %q: want wait, follow or fail", s))
	}
	if c.Policy.OnFailure == FailureRestart {
		problems = append(problems, c.validateRestart())
	}
	checkGrace := func(what string, grace time.Duration) {
		if grace <= 0 {
			problems = append(problems, fmt.Errorf("%s %s: must be longer than zero", what, grace))
		}
	}
	checkGrace("startup grace", c.Policy.StartupGrace)
	checkGrace("unready grace", c.Policy.UnreadyGrace)
	checkGrace("stuck grace", c.Policy.StuckGrace)
	if c.Policy.UnschedulableGrace < 0 {
		problems = append(problems, fmt.Errorf("unschedulable grace %s: may not be negative", c.Policy.UnschedulableGrace))
	}
	return errors.Join(problems...)
}

// validateRestart: what is to be started again must have somebody who makes its pods anew.
func (c Config) validateRestart() error {
	var problems []error
	for _, ref := range append([]Ref{c.Self}, c.Peers...) {
		if !ref.traits().restarts {
			kinds := joinKinds(kindsThat(func(t traits) bool { return t.restarts }))
			problems = append(problems, fmt.Errorf("policy restart: %s cannot be started again by deleting its pods: want one of %s", ref, kinds))
		}
	}
	p := c.Policy
	if p.MaxRestarts < 0 {
		problems = append(problems, fmt.Errorf("max restarts %d: may not be negative", p.MaxRestarts))
	}
	if p.RestartBackoff <= 0 || p.RestartBackoffMax < p.RestartBackoff {
		problems = append(problems, fmt.Errorf("restart back-off %s..%s: want two times, longer than zero, the shorter first", p.RestartBackoff, p.RestartBackoffMax))
	}
	return errors.Join(problems...)
}

// Outcome is why a watcher returned.
type Outcome struct {
	// Action is what was decided; Wait or Blind if ctx ended first.
	Action Action
	// Steps are the steps of the cascade, in order; where ctx ended first, the report to the peers if there was one.
	Steps []Step
}

// Watcher watches one run from one of its clusters.
type Watcher struct {
	cfg    Config
	client *kubeclient.Client
	store  *registry.Store
	now    func() time.Time
	server troubles
}

// New makes a watcher. It sends no request.
func New(cfg Config, restConfig *rest.Config) (*Watcher, error) {
	if cfg.StepTimeout == 0 {
		cfg.StepTimeout = defaultStepTimeout
	}
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	w := &Watcher{cfg: cfg, now: newClock().now}
	w.server.now = w.now
	restConfig = w.server.watch(believe(restConfig))
	var storeErr, clientErr error
	w.store, storeErr = registry.New(registry.Config{
		Run: cfg.Run, Namespace: cfg.Namespace, Prefix: cfg.Prefix, Publisher: cfg.Pod, Shards: cfg.Shards,
	}, restConfig)
	w.client, clientErr = kubeclient.New(restConfig, cfg.Namespace)
	if err := errors.Join(cfg.validate(), storeErr, clientErr); err != nil {
		return nil, err
	}
	return w, nil
}

// Run watches until the run is to be taken down, takes it down, and returns what it did. It returns earlier only with
// ctx, and then tells the peers if its pod is being ended (see Testament). A cascade that has begun is not stopped by ctx: the cascade itself ends the pod.
func (w *Watcher) Run(ctx context.Context) (Outcome, error) {
	watching, stop := context.WithCancel(ctx)
	updates, wait := w.observe(watching)
	defer func() { stop(); wait() }()
	obs := begin(w.cfg.Self, w.cfg.Peers, w.cfg.Driver, w.now())
	var last, rehearsed Action
	for {
		action := Decide(w.cfg.Policy, obs, w.now())
		if action.Kind >= Signal && !action.same(rehearsed) {
			action, obs = w.confirm(ctx, obs)
		}
		if action.Kind >= Signal && w.cfg.Policy.OnFailure == FailureDryRun {
			rehearsed = action
			action = Action{Kind: Wait, Reason: fmt.Sprintf("dry run, else: %s: %s", action.Kind, action.Reason)}
		}
		w.cfg.Observer.Decided(action, len(obs.blindSpots()))
		w.report(ctx, last, action)
		switch {
		case action.Kind == Signal:
			action, obs = w.signal(ctx, action, obs)
		case action.Kind == Suspend, action.Kind == Resume:
			w.align(ctx, obs)
			action.At = w.now().Add(confirmAgain)
		case action.Kind == RestartRun:
			action, obs = w.restartRun(ctx, action, obs)
		case action.Kind >= Succeed:
			stop()
			return w.finish(ctx, action, obs)
		}
		last = action
		select {
		case <-ctx.Done():
			return Outcome{Action: action, Steps: w.lastWords(ctx, obs)}, nil
		case fold := <-updates:
			obs = fold(obs)
		case <-w.after(action.At):
		}
	}
}

// same tells that nothing else was decided.
func (a Action) same(b Action) bool { return a.Kind == b.Kind && a.Reason == b.Reason }

// signal reports a failure. Once that is confirmed the error counts as read, so that it is reported once.
func (w *Watcher) signal(ctx context.Context, action Action, obs Observation) (Action, Observation) {
	for _, step := range w.tell(ctx, action, obs) {
		if step.Err != nil && !step.Optional {
			action.At = w.now().Add(confirmAgain)
			return action, obs
		}
	}
	obs.Registry.Error = action.Reason
	action.At = w.now()
	return action, obs
}

// report logs a change of mind, once. That the first answers are still to come is none.
func (w *Watcher) report(ctx context.Context, last, now Action) {
	if !now.same(last) && !strings.Contains(now.Reason, notLookedYet) {
		klog.FromContext(ctx).Info("decided", "action", now.Kind.String(), "reason", now.Reason)
	}
}

// after fires when a decision may change; never for the zero time.
func (w *Watcher) after(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(at.Sub(w.now()))
}

func (w *Watcher) finish(ctx context.Context, action Action, obs Observation) (Outcome, error) {
	ctx = context.WithoutCancel(ctx)
	steps := w.cascade(ctx, action, obs)
	var problems []error
	for _, step := range steps {
		if step.Err != nil && !step.Optional {
			problems = append(problems, fmt.Errorf("%s: %w", step.Name, step.Err))
		}
	}
	return Outcome{Action: action, Steps: steps}, errors.Join(problems...)
}
