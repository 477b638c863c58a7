package reap

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// Reasons of the Events that a reaper emits on the pods. The note is [Action].Reason. They are part of the interface:
// alerts are written on them.
const (
	// EventReaped: the pod is deleted.
	EventReaped = "TandemReaped"
	// EventNodeExcluded: the pod is stuck on a node whose budget is used up, which is excluded now. The node is the
	// related object.
	EventNodeExcluded = "TandemReapNodeExcluded"
	// EventSpent: the pod is stuck, and is left alone because a budget is used up.
	EventSpent = "TandemReapBudgetSpent"
	// EventLeft: the pod is stuck, and is left alone because no Event names a cause or nobody would make it again.
	EventLeft = "TandemReapLeft"
)

// eventReasons are the actions that people are told of.
var eventReasons = map[Kind]string{
	Delete: EventReaped, Exclude: EventNodeExcluded, NodeExcluded: EventSpent, GangSpent: EventSpent, TotalSpent: EventSpent,
	Unexplained: EventLeft, Ownerless: EventLeft,
}

// reportingController is who emits the Events.
const reportingController = "tandem.dev/reap"

// Limits of the API server.
const (
	maxNote     = 1024
	maxInstance = 128
)

type object map[string]any

// eventOf is an Event of events.k8s.io/v1. Its name follows from the pod and the kind of action, so that any number of
// reapers emit one.
func (r *Reaper) eventOf(action Action) (name string, event object) {
	hash := fnv.New64a()
	hash.Write([]byte(action.Pod.UID + "/" + string(action.Kind)))
	name = fmt.Sprintf("%s.%x", action.Pod.Name, hash.Sum64())
	event = object{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"metadata":            object{"name": name, "namespace": r.cfg.Namespace},
		"eventTime":           r.now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"),
		"reportingController": reportingController,
		"reportingInstance":   clip(cmp.Or(r.cfg.Instance, "reap"), maxInstance),
		"type":                "Warning", "action": "Reap", "reason": eventReasons[action.Kind], "note": clip(action.Reason, maxNote),
		"regarding": object{"apiVersion": "v1", "kind": "Pod", "namespace": r.cfg.Namespace, "name": action.Pod.Name, "uid": action.Pod.UID},
	}
	if action.Kind == Exclude {
		event["related"] = object{"apiVersion": "v1", "kind": "Node", "name": action.Pod.Node}
	}
	return name, event
}

// tell emits the Event of an action, once.
func (r *Reaper) tell(ctx context.Context, action Action) error {
	name, event := r.eventOf(action)
	if eventReasons[action.Kind] == "" || r.told[name] {
		return nil
	}
	err := r.client.Create(ctx, kubeclient.Events, event)
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("event %s on pod %s: %w", eventReasons[action.Kind], action.Pod.Name, explain(err, "create", kubeclient.Events.String()))
	} else {
		r.told[name] = true
	}
	r.did(ctx, StepEvent, "event on pod "+action.Pod.Name, err)
	return err
}

// forget leaves out the Events of pods that have gone.
func (r *Reaper) forget(pods []Pod) {
	names := map[string]bool{}
	for _, pod := range pods {
		names[pod.Name] = true
	}
	maps.DeleteFunc(r.told, func(event string, _ bool) bool {
		return !names[event[:strings.LastIndexByte(event, '.')]]
	})
}

// clip shortens text to at most n bytes, at the end of a character.
func clip(text string, n int) string {
	const dots = "..."
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len(dots)], "") + dots
}
