package main

import (
	"errors"
	"net/http"
	"sync"

	"github.com/tandem-rl/tandem/internal/sidecar"
	"github.com/tandem-rl/tandem/peerwatch/reap"
)

var reapFamilies = []sidecar.Family{
	{Name: "tandem_reap_pods", Kind: "gauge", Help: "Pods that prepare, by what was decided last."},
	{Name: "tandem_reap_excluded_nodes", Kind: "gauge", Help: "Nodes that are excluded, when the book was last read."},
	{Name: "tandem_reap_problems", Kind: "gauge", Help: "Things that could not be read or done at the last look."},
	{Name: "tandem_reap_steps_total", Kind: "counter", Help: "Steps that were done, by step and result."},
}

// reapState is what the reaper saw last, for whoever asks over HTTP.
type reapState struct {
	metrics *sidecar.Metrics
	mu      sync.Mutex
	problem error
}

var _ reap.Observer = (*reapState)(nil)

var errNotLookedYet = errors.New("not looked yet")

func newReapState() *reapState {
	return &reapState{metrics: sidecar.NewMetrics(reapFamilies...), problem: errNotLookedYet}
}

// Looked is called by the reaper.
func (s *reapState) Looked(actions []reap.Action, excluded int, problems []error) {
	count := map[reap.Kind]int{}
	for _, action := range actions {
		count[action.Kind]++
	}
	for _, kind := range reap.Kinds {
		s.metrics.Set("tandem_reap_pods", float64(count[kind]), "decision", string(kind))
	}
	s.metrics.Set("tandem_reap_excluded_nodes", float64(excluded))
	s.metrics.Set("tandem_reap_problems", float64(len(problems)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = errors.Join(problems...)
}

// Did is called by the reaper.
func (s *reapState) Did(step reap.Step) {
	result := "ok"
	if step.Err != nil {
		result = "error"
	}
	s.metrics.Add("tandem_reap_steps_total", 1, "step", string(step.Kind), "result", result)
}

// ready: a reaper that does not see all, or cannot do what it decides, looks after nothing.
func (s *reapState) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

func (s *reapState) handler() http.Handler { return sidecar.Handler(s.ready, s.metrics) }
