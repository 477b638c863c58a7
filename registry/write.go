package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// Set writes key. It is done when the value is there, whoever wrote it.
func (s *Store) Set(ctx context.Context, key, value string) error {
	return s.change(ctx, "set", key, func(*configMap) (edit, error) {
		return s.put(key, &value, s.publisherNote()), nil
	})
}

// Delete removes key, whoever wrote it. It is not an error if there is none.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.change(ctx, "delete", key, func(*configMap) (edit, error) {
		return s.put(key, nil, nil), nil
	})
}

// Withdraw removes key if this store's publisher is the one that wrote it last.
func (s *Store) Withdraw(ctx context.Context, key string) error {
	return s.change(ctx, "withdraw", key, func(cm *configMap) (edit, error) {
		if cm.Metadata.Annotations[publisherAnnotation(key)] != s.cfg.Publisher.String() {
			return edit{}, nil
		}
		return s.put(key, nil, nil), nil
	})
}

// Join adds member to the list that key holds. The list stays sorted and without duplicates.
func (s *Store) Join(ctx context.Context, key, member string) error {
	if member == "" {
		return fmt.Errorf("%w: key %q: a member may not be empty", ErrBadValue, key)
	}
	return s.change(ctx, "join", key, func(cm *configMap) (edit, error) {
		return s.editMembers(cm, key, func(members []string, owners map[string]string) []string {
			if who := s.cfg.Publisher.String(); who != "" {
				owners[member] = who
			}
			return append(members, member)
		})
	})
}

// Leave removes member from the list that key holds. With the last member goes the key, so that readers wait for the
// next one.
func (s *Store) Leave(ctx context.Context, key, member string) error {
	return s.change(ctx, "leave", key, func(cm *configMap) (edit, error) {
		return s.editMembers(cm, key, func(members []string, owners map[string]string) []string {
			delete(owners, member)
			return slices.DeleteFunc(members, func(m string) bool { return m == member })
		})
	})
}

// Fail reports that the run has failed. The first message stays: it is the cause, later ones are consequences.
func (s *Store) Fail(ctx context.Context, message string) error {
	if message == "" {
		return fmt.Errorf("%w: a failure needs a message", ErrBadValue)
	}
	return s.change(ctx, "fail", ErrorKey, func(cm *configMap) (edit, error) {
		if cm.failure() != nil {
			return edit{}, nil
		}
		return s.put(ErrorKey, &message, s.publisherNote()), nil
	})
}

func (s *Store) editMembers(cm *configMap, key string, with func(members []string, owners map[string]string) []string) (edit, error) {
	members, err := decodeMembers(key, cm.Data[key])
	if err != nil {
		return edit{}, err
	}
	owners, _ := decodeOwners(cm.Metadata.Annotations[publisherAnnotation(key)])
	members = with(members, owners)
	slices.Sort(members)
	members = slices.Compact(members)
	maps.DeleteFunc(owners, func(member, _ string) bool { return !slices.Contains(members, member) })
	if len(members) == 0 {
		return s.put(key, nil, nil), nil
	}
	value := encodeMembers(members)
	return s.put(key, &value, encodeOwners(owners)), nil
}

func (s *Store) publisherNote() *string {
	if who := s.cfg.Publisher.String(); who != "" {
		return &who
	}
	return nil
}

func (s *Store) put(key string, value, publisher *string) edit {
	schema := Schema
	return edit{
		data:        map[string]*string{key: value},
		annotations: map[string]*string{SchemaAnnotation: &schema, publisherAnnotation(key): publisher},
	}
}

// change applies one edit: read, decide, write if that changes anything, and again if another writer was faster or the
// server could not be asked. Only ctx bounds the tries.
func (s *Store) change(ctx context.Context, verb, key string, decide func(*configMap) (edit, error)) error {
	if err := checkKey(key); err != nil {
		return err
	}
	var retry kubeclient.Backoff
	for {
		err := s.try(ctx, decide)
		if err == nil {
			return nil
		}
		if !retryable(err) {
			return fmt.Errorf("%s %q: %w", verb, key, err)
		}
		if ended := retry.Wait(ctx, err); ended != nil {
			return fmt.Errorf("%s %q: %w; last try: %w", verb, key, ended, err)
		}
	}
}

func (s *Store) try(ctx context.Context, decide func(*configMap) (edit, error)) error {
	cm, err := s.read(ctx)
	if err != nil {
		return err
	}
	e, err := decide(cm)
	if err != nil || !e.changes(cm) {
		return err
	}
	if err := e.checkSize(cm); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	err = s.client.MergePatch(ctx, kubeclient.ConfigMaps, s.Name(), e.patch(cm.Metadata.ResourceVersion))
	return s.translate("patch", err)
}
