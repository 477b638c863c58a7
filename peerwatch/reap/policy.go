package reap

import (
	"errors"
	"fmt"
	"time"
)

// ExcludeMode is what is done about a node whose budget is used up.
type ExcludeMode string

// The ways to exclude a node.
const (
	// ExcludeReport leaves the node's pods alone and says so. The default: it needs no rights on nodes.
	ExcludeReport ExcludeMode = "report"
	// ExcludeTaint puts [Taint] on the node too, so that no new pod comes to it. Pods that hang there still are then
	// deleted, unless they tolerate the taint.
	ExcludeTaint ExcludeMode = "taint"
)

// The taint of an excluded node: tandem.dev/reaped=true:NoSchedule.
const (
	TaintKey    = "tandem.dev/reaped"
	TaintValue  = "true"
	TaintEffect = "NoSchedule"
	Taint       = TaintKey + "=" + TaintValue + ":" + TaintEffect
)

// Policy says when a pod is stuck, and how many of them may be deleted.
type Policy struct {
	// StuckAfter is how long after it was scheduled a pod may prepare. Default 3 minutes.
	StuckAfter time.Duration
	// RecentWithin is how old the newest Event of a cause may be. The kubelet repeats itself, but client-go lets no more
	// than one in five minutes pass after the 25th. Default 10 minutes.
	RecentWithin time.Duration
	// ReportAfter is when a stuck pod is reported that no Event explains. It covers large volumes. Default 15 minutes.
	ReportAfter time.Duration
	// Causes are the reasons of Events that name a cause.
	Causes []string
	// NodeBudget, GangBudget and TotalBudget bound the deletions on one node, in one gang, and in the namespace.
	// Defaults 3/1h; 2/10m,6/24h; 20/1h.
	NodeBudget, GangBudget, TotalBudget Budget
	// Exclude is what is done about a node whose budget is used up. Default [ExcludeReport].
	Exclude ExcludeMode
}

// DefaultPolicy is what the fields' comments say.
func DefaultPolicy() Policy {
	return Policy{
		StuckAfter: 3 * time.Minute, RecentWithin: 10 * time.Minute, ReportAfter: 15 * time.Minute,
		Causes:      []string{"FailedPrepareDynamicResources", "FailedCreatePodSandBox", "FailedPodSandBoxStatus", "NetworkNotReady"},
		NodeBudget:  Budget{{3, time.Hour}},
		GangBudget:  Budget{{2, 10 * time.Minute}, {6, 24 * time.Hour}},
		TotalBudget: Budget{{20, time.Hour}},
		Exclude:     ExcludeReport,
	}
}

// validate reports every problem at once.
func (p Policy) validate() error {
	var problems []error
	for _, d := range []struct {
		what   string
		length time.Duration
	}{{"stuck-after", p.StuckAfter}, {"recent-within", p.RecentWithin}, {"report-after", p.ReportAfter}} {
		if d.length <= 0 {
			problems = append(problems, fmt.Errorf("%s %s: must be longer than zero", d.what, d.length))
		}
	}
	if len(p.Causes) == 0 {
		problems = append(problems, errors.New("causes: name at least one reason of an Event, or nothing is ever deleted"))
	}
	for _, b := range []struct {
		what   string
		budget Budget
	}{{"node-budget", p.NodeBudget}, {"gang-budget", p.GangBudget}, {"total-budget", p.TotalBudget}} {
		if err := b.budget.validate(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", b.what, err))
		}
	}
	if p.Exclude != ExcludeReport && p.Exclude != ExcludeTaint {
		problems = append(problems, fmt.Errorf("exclude %q: want %s or %s", p.Exclude, ExcludeReport, ExcludeTaint))
	}
	return errors.Join(problems...)
}

// memory is how long a deletion counts in any budget.
func (p Policy) memory() time.Duration {
	return max(p.NodeBudget.longest(), p.GangBudget.longest(), p.TotalBudget.longest())
}
