package main

import (
	"context"
	"time"

	"github.com/tandem-rl/tandem/bench/internal/figure"
)

// sidecar is what a watcher costs that has nothing to do, in a run of two clusters.
type sidecar struct {
	BinaryMiB float64 `json:"binaryMiB"`
	RSSMiB    float64 `json:"rssMiB"`         // of the larger of two
	Before    int     `json:"requestsBefore"` // of both, until they are idle
	Requests  int     `json:"requests"`       // of both while idle, but for watches
	Watches   int     `json:"watches"`        // of both that were opened while idle
	Seconds   float64 `json:"seconds"`        // for so long
}

const (
	settle  = 10 * time.Second
	observe = 30 * time.Second
)

// idle watches a team that was started while nothing else went on.
func (b *bench) idle(ctx context.Context, t *team, s *sidecar) error {
	if err := pause(ctx, settle); err != nil {
		return err
	}
	from := time.Now()
	if err := pause(ctx, observe); err != nil {
		return err
	}
	to := time.Now()
	for _, w := range t.watchers {
		rss, err := figure.ResidentMiB(w.PID())
		if err != nil {
			return err
		}
		s.RSSMiB = max(s.RSSMiB, rss)
	}
	requests := b.audit.of(t.Metadata.Namespace)
	s.Seconds = to.Sub(from).Seconds()
	s.Requests, s.Watches = between(requests, from, to)
	others, watches := between(requests, time.Time{}, from)
	s.Before = others + watches
	return t.stop(ctx)
}
