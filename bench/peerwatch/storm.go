package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/internal/faultyapi"
	"github.com/tandem-rl/tandem/test/fakeray"
	"github.com/tandem-rl/tandem/test/podprocess"
)

// refusals are what an API server in trouble answers.
var refusals = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// storm is what healthy runs of two clusters went through while their API server refused most requests.
type storm struct {
	Code    int     `json:"code"`
	Seconds float64 `json:"seconds"`
	Runs    int     `json:"runs"`    // with a peerwatch for each cluster, and as many with polling ones
	Refused int     `json:"refused"` // answers
	// False are the runs of which anything was deleted, or a watcher ended. Polling is the same for the polling one;
	// Decided counts how often one of those decided to tear down, of which the storm also refused most deletions.
	False   int `json:"false"`
	Polling int `json:"pollingFalse"`
	Decided int `json:"pollingDecided"`
}

const (
	stormRuns = 5
	// refusedShare is how many of a hundred requests are refused. A server that answers nothing at all would refuse the
	// deletions of a watcher that is wrong as well.
	refusedShare = 80
	stormSeed    = 1
	// watchLife makes watchers ask again and again: a watch that is open would not be refused.
	watchLife = 2 * time.Second
)

// storm plays one kind of refusal.
func (b *bench) storm(ctx context.Context, code int, lasts time.Duration) (storm, error) {
	s := storm{Code: code, Seconds: lasts.Seconds(), Runs: stormRuns}
	proxy, err := podprocess.NewProxy(b.server.Config)
	if err != nil {
		return s, err
	}
	defer proxy.Close()
	proxy.CutWatches(watchLife)
	teams, err := b.newTeams(ctx, stormRuns, 2, unreadyGrace, proxy.API)
	if err != nil {
		return s, err
	}
	polled, err := b.newFlock(ctx, stormRuns, proxy.API)
	if err != nil {
		return s, err
	}
	proxy.Inject(refuse(code, &s.Refused))
	if err := polled.poll(ctx, lasts); err != nil {
		return s, err
	}
	proxy.Inject(nil)
	for _, run := range polled {
		s.Decided += run.pollers[0].tornDown + run.pollers[1].tornDown
		deletions, err := b.audit.deletions(run.Metadata.Namespace)
		if err != nil {
			return s, err
		}
		if len(deletions) > 0 {
			s.Polling++
		}
	}
	return s, b.afterStorm(ctx, teams, &s)
}

// flock are runs with polling watchers.
type flock []polledRun

type polledRun struct {
	*fakeray.Run
	pollers []*poller
}

func (b *bench) newFlock(ctx context.Context, runs int, api *rest.Config) (flock, error) {
	return several(runs, func() (polledRun, error) {
		run, err := b.newRun(ctx, 2, hour)
		if err != nil {
			return polledRun{}, err
		}
		pollers, err := newPollers(ctx, run, api)
		return polledRun{run, pollers}, err
	})
}

// poll lets all of them poll for so long.
func (f flock) poll(ctx context.Context, lasts time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	var group errgroup.Group
	for _, run := range f {
		for _, p := range run.pollers {
			group.Go(func() error { return p.run(bounded) })
		}
	}
	return errors.Join(pause(ctx, lasts), group.Wait())
}

// afterStorm counts the runs that did not live through it: their watchers must see everything again, and have done
// nothing.
func (b *bench) afterStorm(ctx context.Context, teams []*team, s *storm) error {
	for _, t := range teams {
		bounded, cancel := context.WithTimeout(ctx, patience)
		well := true
		for _, w := range t.watchers {
			if err := w.Ready(bounded); err != nil {
				fmt.Fprintf(b.log, "after %d: %v\n", s.Code, err)
				well = false
			}
		}
		cancel()
		deletions, err := b.audit.deletions(t.Metadata.Namespace)
		if err != nil {
			return err
		}
		if !well || len(deletions) > 0 {
			s.False++
		}
		if err := t.stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// refuse answers most requests with a code, and counts that. It is called one at a time.
func refuse(code int, count *int) faultyapi.Fault {
	random := rand.New(rand.NewPCG(stormSeed, uint64(code)))
	return func(req *http.Request) *http.Response {
		if random.IntN(100) >= refusedShare {
			return nil
		}
		*count++
		return podprocess.Refusal(req, code)
	}
}
