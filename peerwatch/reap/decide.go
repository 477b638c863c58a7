package reap

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Kind is what to do about a pod or a node.
type Kind string

// The kinds of Action, a closed set.
const (
	// Wait: nothing is wrong yet. Look again at Action.At.
	Wait Kind = "wait"
	// Blind: the pod is stuck, and what must be known to judge it cannot be read.
	Blind Kind = "blind"
	// Unexplained: the pod is stuck and no recent Event says why. It is left alone.
	Unexplained Kind = "unexplained"
	// Ownerless: nobody would make the pod again, or it would come back to the same node. It is left alone.
	Ownerless Kind = "ownerless"
	// NodeExcluded: the budget of its node is used up. It is left alone.
	NodeExcluded Kind = "node-excluded"
	// GangSpent: the budget of its gang is used up. It is left alone.
	GangSpent Kind = "gang-spent"
	// TotalSpent: the budget of the namespace is used up. It is left alone.
	TotalSpent Kind = "total-spent"
	// Delete the pod.
	Delete Kind = "delete"
	// Exclude the node of the pod, and leave the pod alone until that is done.
	Exclude Kind = "exclude"
)

// Kinds are all kinds of Action.
var Kinds = []Kind{Wait, Blind, Unexplained, Ownerless, NodeExcluded, GangSpent, TotalSpent, Delete, Exclude}

// Action is a decision about one pod that prepares.
type Action struct {
	Kind Kind
	Pod  Pod
	// Reason is a sentence for people.
	Reason string
	// At is when the decision may change although nothing else does; zero if that is not known.
	At time.Time
}

// Decide says what to do about each pod that prepares, those that have been stuck for longest first. What it decides to
// delete counts for the pods that follow.
func Decide(p Policy, obs Observation, now time.Time) []Action {
	pods := slices.Clone(obs.Pods)
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(a.Scheduled.Compare(b.Scheduled), cmp.Compare(a.Name, b.Name))
	})
	var actions []Action
	for _, pod := range pods {
		suspect, at := pod.suspect(p, now)
		switch {
		case at.IsZero():
			continue
		case !suspect:
			actions = append(actions, Action{Kind: Wait, Pod: pod, At: at})
			continue
		}
		action := judge(p, pod, obs, now)
		action.Pod = pod
		obs.Book = obs.Book.after(action, now)
		actions = append(actions, action)
	}
	return actions
}

// after is the book once the action is booked.
func (b Book) after(action Action, now time.Time) Book {
	switch action.Kind {
	case Delete:
		return b.withDeletion(action.Pod, now)
	case Exclude:
		return b.withExclusion(action.Pod.Node, action.Reason, now)
	}
	return b
}

// judge decides about a pod that is stuck: first whether the evidence suffices, then whether it may be deleted.
func judge(p Policy, pod Pod, obs Observation, now time.Time) Action {
	stuck := fmt.Sprintf("stuck on node %s since %s", pod.Node, pod.Scheduled.UTC().Format(time.RFC3339))
	switch {
	case pod.Blind != "":
		return Action{Kind: Blind, Reason: "cannot see why: " + pod.Blind}
	case obs.BookBlind != "":
		return Action{Kind: Blind, Reason: "cannot see what was deleted: " + obs.BookBlind}
	case pod.Cause.Over:
		return Action{Kind: Wait, Reason: "its sandbox is there"}
	case !pod.Cause.recent(p, now):
		return unexplained(p, pod, stuck, now)
	case !pod.Returns:
		return Action{Kind: Ownerless, Reason: stuck + ", and nobody would make it again for another node: " + pod.Cause.text()}
	case obs.Book.has(pod):
		return Action{Kind: Delete, Reason: stuck + ": " + pod.Cause.text()}
	}
	if action := judgeBudgets(p, pod, obs.Book, now); action != nil {
		return *action
	}
	return Action{Kind: Delete, Reason: stuck + ": " + pod.Cause.text()}
}

func (c Cause) recent(p Policy, now time.Time) bool {
	return c.Reason != "" && now.Sub(c.Last) <= p.RecentWithin
}

func (c Cause) text() string { return c.Reason + ": " + c.Note }

// unexplained: Events are kept for an hour, and a kubelet that does not get on does not always say so.
func unexplained(p Policy, pod Pod, stuck string, now time.Time) Action {
	report := pod.Scheduled.Add(p.ReportAfter)
	if now.Before(report) {
		return Action{Kind: Wait, Reason: "no Event names a cause", At: report}
	}
	why := stuck + ", and no Event names a cause"
	if pod.Cause.Reason != "" {
		why = fmt.Sprintf("%s, and %s was last seen at %s", stuck, pod.Cause.Reason, pod.Cause.Last.UTC().Format(time.RFC3339))
	}
	if pod.Cause.Warning != "" {
		why += "; the kubelet's last warning is " + pod.Cause.Warning
	}
	return Action{Kind: Unexplained, Reason: why}
}

// judgeBudgets returns why a pod may not be deleted, or nil. The node comes first: that it is excluded is worth more than
// that one gang waits.
func judgeBudgets(p Policy, pod Pod, book Book, now time.Time) *Action {
	if action := judgeNode(p, pod, book, now); action != nil {
		return action
	}
	if by, until, spent := p.GangBudget.spent(book.ofGang(pod.Gang), now); spent {
		return &Action{Kind: GangSpent, At: until, Reason: fmt.Sprintf("the budget of %s (%s) is used up until %s", pod.Gang, by, until.UTC().Format(time.RFC3339))}
	}
	if by, until, spent := p.TotalBudget.spent(book.all(), now); spent {
		return &Action{Kind: TotalSpent, At: until, Reason: fmt.Sprintf("the budget of the namespace (%s) is used up until %s", by, until.UTC().Format(time.RFC3339))}
	}
	return nil
}

// judgeNode: on a node whose budget is used up, a further pod that is stuck shows that deleting does not help.
func judgeNode(p Policy, pod Pod, book Book, now time.Time) *Action {
	excluded := book.Pages[pod.Node].Excluded
	if excluded == nil {
		by, _, spent := p.NodeBudget.spent(book.onNode(pod.Node), now)
		if !spent {
			return nil
		}
		return &Action{Kind: Exclude, Reason: fmt.Sprintf("the budget of node %s (%s) is used up, and pod %s is stuck there: %s", pod.Node, by, pod.Name, pod.Cause.text())}
	}
	switch {
	case p.Exclude == ExcludeTaint && !excluded.Tainted:
		return &Action{Kind: Exclude, Reason: excluded.Reason}
	case excluded.Tainted && !pod.Tolerates:
		return nil
	}
	return &Action{Kind: NodeExcluded, Reason: fmt.Sprintf("node %s is excluded since %s", pod.Node, excluded.At.UTC().Format(time.RFC3339))}
}
