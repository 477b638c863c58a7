package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/sidecar"
	"github.com/tandem-rl/tandem/peerwatch"
)

// shutdownTimeout is how long a request that is being answered may still take when the watcher ends.
const shutdownTimeout = time.Second

var families = []sidecar.Family{
	{Name: "tandem_peerwatch_state", Kind: "gauge", Help: "1 for what the watcher decided last, by state: wait, blind, signal, suspend, resume, restart, succeed or fail."},
	{Name: "tandem_peerwatch_decisions_total", Kind: "counter", Help: "Changes of mind, by the state that was decided."},
	{Name: "tandem_peerwatch_blind_spots", Kind: "gauge", Help: "Things that cannot be seen now."},
	{Name: "tandem_peerwatch_steps_total", Kind: "counter", Help: "Steps that were done, by step and result."},
}

// state is what the watcher decided last, for whoever asks over HTTP.
type state struct {
	metrics *sidecar.Metrics
	mu      sync.Mutex
	last    peerwatch.Action
	looked  bool
}

var _ peerwatch.Observer = (*state)(nil)

func newState() *state { return &state{metrics: sidecar.NewMetrics(families...)} }

// Decided is called by the watcher.
func (s *state) Decided(action peerwatch.Action, blindSpots int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics.Set("tandem_peerwatch_blind_spots", float64(blindSpots))
	if s.looked && action.Kind == s.last.Kind && action.Reason == s.last.Reason {
		return
	}
	s.metrics.Set("tandem_peerwatch_state", 0, "state", s.last.Kind.String())
	s.metrics.Set("tandem_peerwatch_state", 1, "state", action.Kind.String())
	s.metrics.Add("tandem_peerwatch_decisions_total", 1, "state", action.Kind.String())
	s.last, s.looked = action, true
}

// Did is called by the watcher.
func (s *state) Did(step peerwatch.Step) {
	result := "ok"
	if step.Err != nil {
		result = "error"
	}
	s.metrics.Add("tandem_peerwatch_steps_total", 1, "step", string(step.Kind), "result", result)
}

// ready: a watcher that sees nothing, or not all, guards nothing.
func (s *state) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.looked:
		return errors.New("not looked yet")
	case s.last.Kind == peerwatch.Blind:
		return errors.New(s.last.Reason)
	}
	return nil
}

// listen serves the state until stop is called. That the port is taken is said and no more: a watcher that watches is
// worth more than one that tells.
func (s *state) listen(ctx context.Context, address string) (stop func()) {
	if address == "" {
		return func() {}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		klog.FromContext(ctx).Error(err, "no metrics", "listen", address)
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := sidecar.Serve(ctx, listener, s.handler(), shutdownTimeout); err != nil {
			klog.FromContext(ctx).Error(err, "metrics ended", "listen", address)
		}
	}()
	return func() { cancel(); <-done }
}

func (s *state) handler() http.Handler { return sidecar.Handler(s.ready, s.metrics) }
