package peerwatch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

// The fold functions bring one new level into what is known. They are pure: the watcher calls them one at a time.

// notLookedYet is the blindness before the first answer.
const notLookedYet = "not looked yet"

// begin is what is known before anything was seen.
func begin(self Ref, peers []Ref, driver Ref, now time.Time) Observation {
	obs := Observation{Registry: Registry{Blind: notLookedYet, Since: now}}
	for _, ref := range append([]Ref{self}, peers...) {
		peer := Peer{Ref: ref, Self: ref == self, Since: now}
		if ref.Kind != Pods {
			peer.Blind = notLookedYet
		}
		if peer.Selector = ref.traits().selector(ref.Name, object{}); peer.Selector != "" {
			peer.PodsBlind = notLookedYet
		}
		obs.Peers = append(obs.Peers, peer)
	}
	if driver.Name != "" {
		obs.Driver = Driver{Ref: driver, Blind: notLookedYet}
	}
	return obs
}

func (c Peer) foldObject(items []object, err error, now time.Time) Peer {
	if err != nil {
		c.Blind = why(err)
		return c
	}
	if c.Blind != "" {
		c = c.countAnew()
	}
	c.Blind = ""
	c.Present = len(items) > 0
	if !c.Present {
		c.UID, c.Deleting = "", false
		return c // how it ended stays known
	}
	o, kind := items[0], c.traits()
	c.UID, c.Deleting = o.Metadata.UID, o.Metadata.deleting()
	if !c.Seen {
		c.Seen, c.FirstUID = true, c.UID
	}
	r := kind.read(o)
	c.Ended, c.EndReason, c.Holds, c.Wish = r.ended, r.why, r.holds, c.wish(o, r.ended)
	c = c.aim(r.incarnation, kind.selector(c.Name, o))
	if r.suspended {
		return c.suspend()
	}
	c.Suspended = false
	return c.foldReadiness(r, now).foldFailure(r, now).foldGroups(r.groups, now).rememberHead().countWorkers(now).awaitHead(now)
}

// countAnew forgets since when something lasts of which nobody can tell whether it was well meanwhile. Of a head the
// object tells one spell from the next.
func (c Peer) countAnew() Peer {
	c.FailureSince, c.HeadlessSince = time.Time{}, time.Time{}
	groups := slices.Clone(c.Groups)
	for i := range groups {
		groups[i].ShortSince = time.Time{}
	}
	c.Groups = groups
	return c
}

// aim: pods that are started anew are others, of which nothing is known yet.
func (c Peer) aim(incarnation, selector string) Peer {
	if incarnation != c.Incarnation {
		c.Heads, c.Workers, c.FirstHead = nil, nil, ""
		c = c.unready()
	}
	switch {
	case selector == "":
		c.PodsBlind = ""
	case selector != c.Selector:
		c.PodsBlind = notLookedYet
	}
	c.Incarnation, c.Selector = incarnation, selector
	return c
}

// suspend: what is started after a suspension is another head, which has not been ready yet. The former one is noted
// once, since the next may be seen before the end of the suspension is.
func (c Peer) suspend() Peer {
	if c.Suspended {
		return c
	}
	c = c.rememberHead()
	if c.FirstHead != "" {
		c.FormerHead, c.FirstHead = c.FirstHead, ""
	}
	c.Suspended = true
	return c.unready()
}

// unready: it starts anew.
func (c Peer) unready() Peer {
	c.WasReady, c.UnreadySince, c.UnreadySpell, c.UnreadyReason = false, time.Time{}, "", ""
	c.FailureSince, c.Failure, c.HeadlessSince = time.Time{}, "", time.Time{}
	groups := slices.Clone(c.Groups)
	for i := range groups {
		groups[i].Complete, groups[i].ShortSince = false, time.Time{}
	}
	c.Groups = groups
	return c
}

// foldReadiness counts from when the head was first seen unready, by the watcher's clock. KubeRay's time of the change
// only tells one spell from the next, where the readiness between them was not seen.
func (c Peer) foldReadiness(r reading, now time.Time) Peer {
	if r.head == nil {
		return c
	}
	if c.Restarted && !c.WasReady && !c.headIsReady() {
		return c // the object may still tell of the head of before
	}
	c.WasReady = c.WasReady || r.wasReady
	if r.head.Status == "True" {
		c.WasReady, c.UnreadySince, c.UnreadyReason, c.UnreadySpell = true, time.Time{}, "", ""
		return c
	}
	if c.WasReady && (c.UnreadySince.IsZero() || c.UnreadySpell != r.head.LastTransitionTime) {
		c.UnreadySince, c.UnreadySpell = now, r.head.LastTransitionTime
	}
	c.UnreadyReason = r.head.text()
	return c
}

func (c Peer) headIsReady() bool {
	return slices.ContainsFunc(c.heads(), func(pod Pod) bool { return pod.Ready })
}

func (c Peer) foldFailure(r reading, now time.Time) Peer {
	c.Failure = r.failure
	switch {
	case c.Failure == "":
		c.FailureSince = time.Time{}
	case c.FailureSince.IsZero():
		c.FailureSince = now
	}
	return c
}

// foldGroups takes over what the groups need. One that needs more than before is not complete yet.
func (c Peer) foldGroups(now []Group, at time.Time) Peer {
	groups := slices.Clone(now)
	for i, group := range groups {
		for _, before := range c.Groups {
			if before.Name == group.Name && before.Min >= group.Min {
				groups[i].Complete, groups[i].ShortSince = before.Complete, before.ShortSince
			}
		}
		groups[i] = groups[i].count(group.Have, at)
	}
	c.Groups = groups
	return c
}

func (c Peer) foldPods(items []pod, err error, now time.Time) Peer {
	if err != nil {
		c.PodsBlind = why(err)
		return c
	}
	before := slices.Concat(c.Heads, c.Workers)
	if c.PodsBlind != "" {
		before, c = nil, c.countAnew()
	}
	c.PodsBlind, c.Heads, c.Workers = "", nil, nil
	for _, item := range items {
		level := item.level().since(before, now)
		switch {
		case c.Incarnation != "" && item.Metadata.Labels[labelCluster] != c.Incarnation:
		case c.traits().ray && item.isHead():
			c.Heads = append(c.Heads, level)
		default:
			c.Workers = append(c.Workers, level)
		}
	}
	if c.Kind == Pods {
		return c.foldSet(now)
	}
	if c.Suspended {
		return c
	}
	return c.rememberHead().countWorkers(now).awaitHead(now)
}

// foldSet: a set of pods is there when one is, and needs as many as it ever had.
func (c Peer) foldSet(now time.Time) Peer {
	c.Present = len(c.Workers) > 0
	c.Seen = c.Seen || c.Present
	have := 0
	for _, pod := range c.Workers {
		if pod.alive() || pod.Done {
			have++
		}
	}
	most := have
	for _, before := range c.Groups {
		most = max(most, before.Min)
	}
	return c.foldGroups([]Group{{Name: groupPods, Min: most, Have: have}}, now)
}

// since is when the watcher first saw the trouble of a pod, by the watcher's clock.
func (p Pod) since(before []Pod, now time.Time) Pod {
	if p.Trouble == "" {
		return p
	}
	p.TroubleSince = now
	for _, earlier := range before {
		if earlier.UID == p.UID && earlier.Trouble == p.Trouble {
			p.TroubleSince = earlier.TroubleSince
		}
	}
	return p
}

// countWorkers notes which groups are complete, and since when one that was is not. A worker that vanished between two
// looks is missed by nothing else.
func (c Peer) countWorkers(now time.Time) Peer {
	if !c.traits().ray {
		return c // others are counted by their controllers
	}
	have := map[string]int{}
	for _, pod := range c.workers() {
		if pod.alive() {
			have[pod.Group]++
		}
	}
	groups := slices.Clone(c.Groups)
	for i := range groups {
		groups[i] = groups[i].count(have[groups[i].Name], now)
	}
	c.Groups = groups
	return c
}

func (g Group) count(have int, now time.Time) Group {
	g.Have = have
	switch {
	case have >= g.Min:
		g.Complete, g.ShortSince = true, time.Time{}
	case g.Complete && g.ShortSince.IsZero():
		g.ShortSince = now
	}
	return g
}

func levels(items []pod) []Pod {
	pods := make([]Pod, 0, len(items))
	for _, item := range items {
		pods = append(pods, item.level())
	}
	return pods
}

// rememberHead keeps the UID of the first head pod. Pods and cluster come from two watches, in either order.
func (c Peer) rememberHead() Peer {
	heads := slices.DeleteFunc(c.heads(), c.isFormerHead)
	if c.FirstHead == "" && len(heads) > 0 && !heads[0].Unstarted {
		c.FirstHead, c.HeadCreated = heads[0].UID, heads[0].Created
	}
	return c
}

// awaitHead notes since when a cluster that was started again has no head. Before that the start of the run waits for it.
func (c Peer) awaitHead(now time.Time) Peer {
	switch awaited := c.Restarted && !c.Suspended && c.traits().ray && c.FirstHead == "" && len(c.heads()) == 0; {
	case !awaited:
		c.HeadlessSince = time.Time{}
	case c.HeadlessSince.IsZero():
		c.HeadlessSince = now
	}
	return c
}

// why is never empty: a refusal without a message is a refusal.
func why(err error) string {
	return cmp.Or(err.Error(), fmt.Sprintf("an error that says nothing (%T)", err))
}

func (d Driver) fold(items []object, err error) Driver {
	if err != nil {
		d.Blind = why(err)
		return d
	}
	d.Blind = ""
	d.Present = len(items) > 0
	if !d.Present {
		return d // what it ended as stays known
	}
	r := d.traits().read(items[0])
	d.Seen, d.UID, d.Holds = true, items[0].Metadata.UID, r.holds
	d.Condition, d.Message, d.Wish = r.ended, r.why, d.wish(items[0], r.ended)
	return d
}

// foldRegistry: a restart that was not known changes what is known of everything else.
func (o Observation) foldRegistry(items []configMap, err error, now time.Time) Observation {
	before := o.Registry.Restart.Count
	o.Registry = o.Registry.fold(items, err)
	if o.Registry.Restart.Count != before {
		return o.foldRestart(now)
	}
	return o
}

func (r Registry) fold(items []configMap, err error) Registry {
	if err != nil {
		r.Blind = why(err)
		return r
	}
	r.Blind, r.Present = "", len(items) > 0
	if r.Present {
		cm := items[0]
		r.Incarnation, r.Restart = cm.Metadata.Annotations[registry.IncarnationAnnotation], cm.restart()
		r.Error, r.StaleError = cm.failure(r.Restart.formers())
		r.Removing = cm.Metadata.Annotations[annotationRemoving] != ""
	}
	return r
}
