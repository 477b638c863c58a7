package peerwatch

import (
	"slices"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

// The fold functions bring one new level into what is known. They are pure: the watcher calls them one at a time.

// notLookedYet is the blindness before the first answer.
const notLookedYet = "not looked yet"

// begin is what is known before anything was seen.
func begin(self string, peers []string, driver string, now time.Time) Observation {
	obs := Observation{Registry: Registry{Blind: notLookedYet}}
	for _, name := range append([]string{self}, peers...) {
		obs.Clusters = append(obs.Clusters, Cluster{
			Name: name, Self: name == self, Since: now, Blind: notLookedYet, PodsBlind: notLookedYet,
		})
	}
	if driver != "" {
		obs.Driver = Driver{Name: driver, Blind: notLookedYet}
	}
	return obs
}

func (c Cluster) foldObject(items []rayCluster, err error, now time.Time) Cluster {
	if err != nil {
		c.Blind = err.Error()
		return c
	}
	c.Blind = ""
	c.Present = len(items) > 0
	if !c.Present {
		c.UID, c.Deleting = "", false
		return c
	}
	object := items[0]
	c.UID, c.Deleting = object.Metadata.UID, object.Metadata.deleting()
	if !c.Seen {
		c.Seen, c.FirstUID = true, c.UID
	}
	if object.suspended() {
		return c.suspend()
	}
	c.Suspended = false
	return c.foldReadiness(object, now).foldFailure(object, now).foldMinimum(object).rememberHead().countWorkers(now)
}

// suspend: what is started after a suspension is another head, which has not been ready yet. The former one is noted
// once, since the next may be seen before the end of the suspension is.
func (c Cluster) suspend() Cluster {
	if c.Suspended {
		return c
	}
	c = c.rememberHead()
	if c.FirstHead != "" {
		c.FormerHead, c.FirstHead = c.FirstHead, ""
	}
	c.Suspended, c.WasReady = true, false
	c.UnreadySince, c.UnreadySpell, c.UnreadyReason = time.Time{}, "", ""
	c.FailureSince, c.Failure, c.Groups = time.Time{}, "", nil
	return c
}

// foldReadiness counts from when the head was first seen unready, by the watcher's clock. KubeRay's time of the change
// only tells one spell from the next, where the readiness between them was not seen.
func (c Cluster) foldReadiness(object rayCluster, now time.Time) Cluster {
	head := object.headReady()
	c.WasReady = c.WasReady || object.wasReady()
	if head.Status == "True" {
		c.WasReady, c.UnreadySince, c.UnreadyReason, c.UnreadySpell = true, time.Time{}, "", ""
		return c
	}
	if c.WasReady && (c.UnreadySince.IsZero() || c.UnreadySpell != head.LastTransitionTime) {
		c.UnreadySince, c.UnreadySpell = now, head.LastTransitionTime
	}
	c.UnreadyReason = head.text()
	return c
}

func (c Cluster) foldFailure(object rayCluster, now time.Time) Cluster {
	c.Failure = object.replicaFailure()
	switch {
	case c.Failure == "":
		c.FailureSince = time.Time{}
	case c.FailureSince.IsZero():
		c.FailureSince = now
	}
	return c
}

// foldMinimum takes over what the groups need. One that needs more than before is not complete yet.
func (c Cluster) foldMinimum(object rayCluster) Cluster {
	groups := make([]Group, 0, len(object.Spec.Groups))
	for _, spec := range object.Spec.Groups {
		group := Group{Name: spec.Name, Min: spec.minimum()}
		for _, before := range c.Groups {
			if before.Name == group.Name && before.Min >= group.Min {
				group.Complete, group.ShortSince = before.Complete, before.ShortSince
			}
		}
		groups = append(groups, group)
	}
	c.Groups = groups
	return c
}

func (c Cluster) foldPods(items []pod, err error, now time.Time) Cluster {
	if err != nil {
		c.PodsBlind = err.Error()
		return c
	}
	before := slices.Concat(c.Heads, c.Workers)
	c.PodsBlind, c.Heads, c.Workers = "", nil, nil
	for _, item := range items {
		level := item.level().since(before, now)
		if item.isHead() {
			c.Heads = append(c.Heads, level)
		} else {
			c.Workers = append(c.Workers, level)
		}
	}
	if c.Suspended {
		return c
	}
	return c.rememberHead().countWorkers(now)
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
func (c Cluster) countWorkers(now time.Time) Cluster {
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
func (c Cluster) rememberHead() Cluster {
	if heads := c.heads(); c.FirstHead == "" && len(heads) > 0 {
		c.FirstHead = heads[0].UID
	}
	return c
}

func (d Driver) fold(items []job, err error) Driver {
	if err != nil {
		d.Blind = err.Error()
		return d
	}
	d.Blind = ""
	d.Present = len(items) > 0
	if !d.Present {
		return d // what it ended as stays known
	}
	d.Seen, d.UID = true, items[0].Metadata.UID
	d.Condition, d.Message = items[0].ended()
	return d
}

func (r Registry) fold(items []configMap, err error) Registry {
	if err != nil {
		r.Blind = err.Error()
		return r
	}
	r.Blind, r.Present = "", len(items) > 0
	if r.Present {
		r.Error = items[0].Data[registry.ErrorKey]
		r.Removing = items[0].Metadata.Annotations[annotationRemoving] != ""
	}
	return r
}
