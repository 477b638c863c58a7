package peerwatch

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// Reasons of the Events that a watcher emits on every cluster of the run, before it deletes any. The note is
// [Action].Reason. They are part of the interface: alerts are written on them.
const (
	// EventCascade: the run has failed and is taken down. A warning.
	EventCascade = "TandemCascade"
	// EventSucceeded: the driver has finished well and the run is taken down.
	EventSucceeded = "TandemSucceeded"
	// EventSignalled: a cluster has failed, which was reported and no more, as the policy is signal. A warning.
	EventSignalled = "TandemSignalled"
	// EventRestart: a cluster has failed, and all are started again. A warning; one for each restart.
	EventRestart = "TandemRestart"
)

// reportingController is who emits the Events.
const reportingController = "tandem.dev/peerwatch"

// Limits of the API server.
const (
	maxNote     = 1024
	maxInstance = 128
)

// event is an Event of events.k8s.io/v1, as JSON.
type event struct {
	APIVersion          string          `json:"apiVersion"`
	Kind                string          `json:"kind"`
	Metadata            eventMeta       `json:"metadata"`
	EventTime           string          `json:"eventTime"`
	ReportingController string          `json:"reportingController"`
	ReportingInstance   string          `json:"reportingInstance"`
	Type                string          `json:"type"`
	Action              string          `json:"action"`
	Reason              string          `json:"reason"`
	Note                string          `json:"note"`
	Regarding           objectReference `json:"regarding"`
}

type eventMeta struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels"`
}

type objectReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

// events are what there is to say about one peer: one Event, about a set of pods one for each; none about what never was.
func (w *Watcher) events(action Action, c Peer) []event {
	about := objectReference{APIVersion: c.traits().apiVersion, Kind: c.traits().title, Namespace: w.cfg.Namespace}
	var list []event
	if c.Kind == Pods {
		for _, pod := range c.Workers {
			about.Kind, about.Name, about.UID = "Pod", pod.Name, pod.UID
			list = append(list, w.event(action, about))
		}
		return list
	}
	about.Name, about.UID = c.Name, cmp.Or(c.UID, c.FirstUID)
	if about.UID == "" {
		return nil
	}
	return []event{w.event(action, about)}
}

// event has a name that follows from the object and the reason, so that any number of watchers emit one Event, and the
// first one's note stays, as the first error does.
func (w *Watcher) event(action Action, about objectReference) event {
	kind, reason, does := "Warning", EventCascade, "Cascade"
	switch action.Kind {
	case Succeed:
		kind, reason, does = "Normal", EventSucceeded, "TakeDown"
	case Signal:
		reason, does = EventSignalled, "Signal"
	case RestartRun:
		reason, does = EventRestart, "Restart"
		action.Reason = fmt.Sprintf("restart %d of %d: %s", action.begins, w.cfg.Policy.MaxRestarts, action.Reason)
	}
	hash := fnv.New64a()
	hash.Write([]byte(about.UID + "/" + reason))
	if action.begins > 0 {
		fmt.Fprintf(hash, "/%d", action.begins)
	}
	return event{
		APIVersion: "events.k8s.io/v1", Kind: "Event",
		Metadata: eventMeta{
			Name: fmt.Sprintf("%s.%x", about.Name, hash.Sum64()), Namespace: w.cfg.Namespace,
			Labels: map[string]string{labelRun: w.cfg.Run},
		},
		EventTime:           time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"),
		ReportingController: reportingController,
		ReportingInstance:   clip(cmp.Or(w.cfg.Pod.Pod, w.cfg.Self.Name), maxInstance),
		Type:                kind, Action: does, Reason: reason, Note: clip(action.Reason, maxNote),
		Regarding: about,
	}
}

// emit tries until the Event is there, or cannot be.
func (w *Watcher) emit(ctx context.Context, e event) error {
	return w.persist(ctx, func() (done bool, err error) {
		err = w.client.Create(ctx, kubeclient.Events, e)
		switch {
		case apierrors.IsAlreadyExists(err):
			return true, nil
		case apierrors.IsForbidden(err):
			return true, fmt.Errorf("event %s on %s %s: the role needs verb %q on %s: %w", e.Reason, e.Regarding.Kind, e.Regarding.Name, "create", kubeclient.Events, err)
		case err != nil:
			return !kubeclient.Retryable(err), fmt.Errorf("event %s on %s %s: %w", e.Reason, e.Regarding.Kind, e.Regarding.Name, err)
		}
		return true, nil
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
