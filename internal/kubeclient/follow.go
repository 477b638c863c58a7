package kubeclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Query selects objects of one resource, on the server: by name, by labels, or both.
type Query struct {
	Resource
	Name   string
	Labels string
}

func (q Query) restrict(req *rest.Request) *rest.Request {
	if q.Name != "" {
		req = req.Param("fieldSelector", "metadata.name="+q.Name)
	}
	if q.Labels != "" {
		req = req.Param("labelSelector", q.Labels)
	}
	return req
}

// Level is what the server says now about the objects of a [Query].
type Level[T any] struct {
	// Items holds the objects, sorted by name.
	Items []T
	// Err is set when the server cannot be asked. Items is then empty and says nothing.
	Err error
}

// Follow calls on with the level at once and after every change, one call at a time, until ctx ends.
//
// It lists, then watches, and lists again whenever the stream ends, is closed, or is too old (410). Errors are retried
// with back-off. Where the role forbids the watch it polls with back-off instead, logs that once, and asks for the
// watch again every minute. A refusal that may pass (see [Refusals]) is an error like any other until then: neither a
// reason to poll, nor one that answers to IsForbidden.
func Follow[T any](ctx context.Context, c *Client, q Query, on func(Level[T])) {
	f := &follower[T]{client: c, query: q, on: on}
	var retry Backoff
	for ctx.Err() == nil {
		began := time.Now()
		changed, err := f.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			klog.FromContext(ctx).V(4).Info("cannot follow", "resource", q.Resource, "name", q.Name, "err", err)
		}
		if changed || (err == nil && time.Since(began) > maxDelay) {
			retry.Reset()
		}
		_ = retry.Wait(ctx, err) // ends with ctx; so does the loop
	}
}

// Look reads the level once.
func Look[T any](ctx context.Context, c *Client, q Query) ([]T, error) {
	f := &follower[T]{client: c, query: q}
	if _, err := f.list(ctx); err != nil {
		return nil, err
	}
	return f.values(), nil
}

// follower is the state of one Follow.
type follower[T any] struct {
	client  *Client
	query   Query
	on      func(Level[T])
	items   map[string]item[T]
	told    string
	access  access
	polling time.Time // until when; zero: never yet
}

// watchAgain is how long a refused watch is not asked for.
const watchAgain = time.Minute

type item[T any] struct {
	meta  meta
	value T
}

type meta struct {
	Metadata struct {
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// session is one list and the watch after it. changed tells whether the caller learned something.
func (f *follower[T]) session(ctx context.Context) (changed bool, err error) {
	version, err := f.list(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		f.told = ""
		f.on(Level[T]{Err: err})
		return false, err
	}
	changed = f.tell()
	if time.Now().Before(f.polling) {
		return changed, nil
	}
	stream, err := f.client.watch(ctx, f.query, version)
	mayPass := f.access.watched(err)
	if apierrors.IsForbidden(err) && !mayPass {
		f.startPolling(ctx, err)
		return changed, nil
	}
	if err != nil {
		return changed, err
	}
	defer stream.Close()
	more, err := f.read(stream)
	f.access.troubled(errStreamEnded)
	return changed || more, err
}

// errStreamEnded stands for a server that may have ended, though streams also end when it is well.
var errStreamEnded = errors.New("the stream ended")

// list replaces the items by what the server has. A role that may only get still works for a single name.
func (f *follower[T]) list(ctx context.Context) (version string, err error) {
	var page struct {
		meta
		Items []json.RawMessage `json:"items"`
	}
	err = f.client.list(ctx, f.query, &page)
	mayPass := f.access.listed(err)
	if apierrors.IsForbidden(err) && f.query.Name != "" {
		if !mayPass {
			f.startPolling(ctx, err)
		}
		page.Items, err = f.get(ctx)
		mayPass = f.access.got(err) || mayPass
	}
	if apierrors.IsForbidden(err) && mayPass {
		err = &unsettled{err}
	}
	if err != nil {
		return "", err
	}
	f.items = map[string]item[T]{}
	for _, raw := range page.Items {
		if err := f.put(raw); err != nil {
			return "", err
		}
	}
	return page.Metadata.ResourceVersion, nil
}

func (f *follower[T]) get(ctx context.Context) ([]json.RawMessage, error) {
	var raw json.RawMessage
	err := f.client.Get(ctx, f.query.Resource, f.query.Name, &raw)
	if IsObjectNotFound(err, f.query.Name) {
		return nil, nil
	}
	return []json.RawMessage{raw}, err
}

func (f *follower[T]) startPolling(ctx context.Context, cause error) {
	first := f.polling.IsZero()
	f.polling = time.Now().Add(watchAgain)
	if first && f.on != nil {
		klog.FromContext(ctx).Info("polling, because the role does not allow list and watch",
			"resource", f.query.Resource.String(), "name", f.query.Name, "err", cause)
	}
}

// read applies events until the stream ends. A stream that ends is normal; an error event is returned.
func (f *follower[T]) read(stream io.Reader) (changed bool, err error) {
	events := json.NewDecoder(stream)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := events.Decode(&event); err != nil {
			return changed, nil
		}
		if err := f.apply(event.Type, event.Object); err != nil {
			return changed, err
		}
		changed = f.tell() || changed
	}
}

func (f *follower[T]) apply(kind string, raw json.RawMessage) error {
	switch kind {
	case "ADDED", "MODIFIED":
		return f.put(raw)
	case "DELETED":
		var m meta
		err := json.Unmarshal(raw, &m)
		delete(f.items, m.Metadata.Name)
		return err
	case "ERROR":
		return watchError(raw)
	}
	return nil
}

func watchError(raw json.RawMessage) error {
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return err
	}
	if status.Code == http.StatusGone {
		return nil // too old: list again
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func (f *follower[T]) put(raw json.RawMessage) error {
	var it item[T]
	if err := errors.Join(json.Unmarshal(raw, &it.meta), json.Unmarshal(raw, &it.value)); err != nil {
		return fmt.Errorf("%s: %w", f.query.Resource, err)
	}
	f.items[it.meta.Metadata.Name] = it
	return nil
}

// tell reports the level if it differs from what was told last.
func (f *follower[T]) tell() bool {
	now := f.fingerprint()
	if now == f.told {
		return false
	}
	f.told = now
	f.on(Level[T]{Items: f.values()})
	return true
}

func (f *follower[T]) names() []string {
	names := make([]string, 0, len(f.items))
	for name := range f.items {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (f *follower[T]) values() []T {
	values := make([]T, 0, len(f.items))
	for _, name := range f.names() {
		values = append(values, f.items[name].value)
	}
	return values
}

func (f *follower[T]) fingerprint() string {
	var b strings.Builder
	b.WriteString("level")
	for _, name := range f.names() {
		m := f.items[name].meta.Metadata
		fmt.Fprintf(&b, " %s/%s/%s", name, m.UID, m.ResourceVersion)
	}
	return b.String()
}
