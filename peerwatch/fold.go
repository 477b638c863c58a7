package peerwatch

import (
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
	return c.foldReadiness(object, now).rememberHead()
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

func (c Cluster) foldPods(items []pod, err error) Cluster {
	if err != nil {
		c.PodsBlind = err.Error()
		return c
	}
	c.PodsBlind, c.Heads, c.Workers = "", nil, nil
	for _, item := range items {
		if item.isHead() {
			c.Heads = append(c.Heads, item.level())
		} else {
			c.Workers = append(c.Workers, item.level())
		}
	}
	if c.Suspended {
		return c
	}
	return c.rememberHead()
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
	r.Blind = ""
	if len(items) > 0 {
		r.Error = items[0].Data[registry.ErrorKey]
		r.Removing = items[0].Metadata.Annotations[annotationRemoving] != ""
	}
	return r
}
