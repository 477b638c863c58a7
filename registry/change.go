package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// Write is what one call that writes cost.
type Write struct {
	// Verb is set, join, leave, delete, withdraw, fail or reset.
	Verb string
	// Conflicts counts tries that were refused because another writer was faster, Retries those that failed otherwise.
	Conflicts, Retries int
	Took               time.Duration
	Err                error
}

// verbReset is the one write that an incarnation which is not current may do.
const verbReset = "reset"

// write names a change: of which key, in which ConfigMap.
type write struct{ verb, key, object string }

// change applies one edit: read, decide, write if that changes anything, and again if another writer was faster or the
// server could not be asked. Only ctx bounds the tries.
func (s *Store) change(ctx context.Context, w write, decide func(*configMap) (edit, error)) error {
	report := Write{Verb: w.verb}
	began := time.Now()
	err := s.changeCounting(ctx, w, decide, &report)
	if s.cfg.OnWrite != nil {
		report.Took, report.Err = time.Since(began), err
		s.cfg.OnWrite(report)
	}
	return err
}

func (s *Store) changeCounting(ctx context.Context, w write, decide func(*configMap) (edit, error), report *Write) error {
	if err := checkKey(w.key); err != nil {
		return err
	}
	var retry kubeclient.Backoff
	var refusals kubeclient.Refusals
	var last error
	for {
		began := time.Now()
		err := s.try(ctx, w, decide)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) && last != nil {
			err = last // this try was cut off; the one before says why it took so long
		}
		last = err
		if mayPass := refusals.MayPass(err); !mayPass && !retryable(err) {
			return fmt.Errorf("%s %q: %w", w.verb, w.key, err)
		}
		var ended error
		if errors.Is(err, ErrConflict) {
			report.Conflicts++
			ended = retry.WaitTurn(ctx, time.Since(began))
		} else {
			report.Retries++
			ended = retry.Wait(ctx, err)
		}
		if ended != nil {
			return fmt.Errorf("%s %q: %w; last try: %w", w.verb, w.key, ended, err)
		}
	}
}

// try works on the object as this store last wrote it, if it did: then one request is enough. What that decides is
// believed only when the server took it; anything else is decided again on what the server has.
func (s *Store) try(ctx context.Context, w write, decide func(*configMap) (edit, error)) error {
	slot := s.objects.slot(w.object)
	if err := slot.lock(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.cfg.describe(w.object), err)
	}
	defer slot.unlock()
	if known := slot.take(); known != nil {
		if e, err := s.decide(known, w, decide); err == nil && e.changes(known) {
			return s.patch(ctx, w.object, slot, known, e)
		}
	}
	cm, err := s.readObject(ctx, w.object)
	if err != nil {
		return err
	}
	e, err := s.decide(cm, w, decide)
	if err != nil || !e.changes(cm) {
		return err
	}
	return s.patch(ctx, w.object, slot, cm, e)
}

func (s *Store) decide(cm *configMap, w write, decide func(*configMap) (edit, error)) (e edit, err error) {
	if w.verb != verbReset {
		err = cm.admits(s.cfg.Incarnation)
	}
	if err == nil {
		e, err = decide(cm)
	}
	if err == nil {
		err = e.checkSize(cm)
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", s.cfg.describe(w.object), err)
	}
	return e, nil
}

func (s *Store) patch(ctx context.Context, object string, slot *slot, cm *configMap, e edit) error {
	var answer configMap
	err := s.client.MergePatch(ctx, kubeclient.ConfigMaps, object, e.patch(cm.Metadata.ResourceVersion), &answer)
	if err != nil {
		return s.translate("patch", object, err)
	}
	slot.known = &answer
	return nil
}

// objects are the ConfigMaps that a store writes to, each by one goroutine at a time: a process need not compete with
// itself.
type objects struct {
	mu    sync.Mutex
	slots map[string]*slot
}

type slot struct {
	busy  chan struct{} // holds one token while somebody works on the object
	known *configMap    // the server's answer to this store's last write
}

func (o *objects) slot(name string) *slot {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.slots == nil {
		o.slots = map[string]*slot{}
	}
	if o.slots[name] == nil {
		o.slots[name] = &slot{busy: make(chan struct{}, 1)}
	}
	return o.slots[name]
}

func (s *slot) lock(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slot) unlock() { <-s.busy }

// take returns what is known and forgets it, so that it is not used again unless the next write succeeds.
func (s *slot) take() *configMap {
	known := s.known
	s.known = nil
	return known
}
