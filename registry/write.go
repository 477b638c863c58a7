package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Set writes key. It is done when the value is there, whoever wrote it. The address of Gym's head server is written as
// [NormalizeURL] gives it.
func (s *Store) Set(ctx context.Context, key, value string) error {
	if key == GymKey {
		normal, err := NormalizeURL(value, DefaultGymPort)
		if err != nil {
			return fmt.Errorf("set %q: %s: %w", key, s, err)
		}
		value = normal
	}
	if err := checkText(key, value); err != nil {
		return fmt.Errorf("set %q: %s: %w", key, s, err)
	}
	return s.change(ctx, s.to("set", key, ""), func(*configMap) (edit, error) {
		return s.put(key, &value, valueNote(s.author(), value)), nil
	})
}

// Delete removes key, whoever wrote it. It is not an error if there is none.
func (s *Store) Delete(ctx context.Context, key string) error {
	for _, object := range append(s.cfg.ShardNames(), s.Name()) {
		err := s.change(ctx, write{"delete", key, object}, func(cm *configMap) (edit, error) {
			return s.put(key, nil, nil), s.mayRemove(cm.readFolded().isKey(key))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Withdraw removes key if this store's publisher is the one that wrote it last.
func (s *Store) Withdraw(ctx context.Context, key string) error {
	return s.change(ctx, s.to("withdraw", key, ""), func(cm *configMap) (edit, error) {
		if cm.valueAuthor(key) != s.author() {
			return edit{}, nil
		}
		return s.put(key, nil, nil), nil
	})
}

// Join adds member to the list that key holds. The list stays sorted and without duplicates.
func (s *Store) Join(ctx context.Context, key, member string) error {
	if err := checkMember(key, member); err != nil {
		return fmt.Errorf("join %q: %s: %w", key, s, err)
	}
	return s.change(ctx, s.to("join", key, member), func(cm *configMap) (edit, error) {
		return s.editMembers(cm, key, func(members []string, authors map[string]author) []string {
			authors[member] = s.author()
			return append(members, member)
		})
	})
}

// Leave removes member from the list that key holds, whoever joined it. With the last member goes the key, so that
// readers wait for the next one.
func (s *Store) Leave(ctx context.Context, key, member string) error {
	return s.change(ctx, s.to("leave", key, member), func(cm *configMap) (edit, error) {
		if err := s.mayRemove(cm.readFolded().hasMember(key, member)); err != nil {
			return edit{}, err
		}
		return s.editMembers(cm, key, func(members []string, authors map[string]author) []string {
			delete(authors, member)
			return slices.DeleteFunc(members, func(m string) bool { return m == member })
		})
	})
}

// mayRemove refuses to remove from the run's ConfigMap what a Folder would put back from the shards.
func (s *Store) mayRemove(folded bool) error {
	if folded && s.cfg.Shards == 0 {
		return fmt.Errorf("%w: it is folded from shards: remove it there, with the run's number of shards", ErrBadValue)
	}
	return nil
}

// Fail reports that the run has failed. The first message of an incarnation stays: it is the cause, later ones are
// consequences.
func (s *Store) Fail(ctx context.Context, message string) error {
	if message == "" {
		return fmt.Errorf("fail: %s: %w: a failure needs a message", s, ErrBadValue)
	}
	message = strings.ToValidUTF8(message, "?")
	return s.change(ctx, s.to("fail", ErrorKey, ""), func(cm *configMap) (edit, error) {
		if cm.seenBy(s.cfg.Incarnation).failure() != nil {
			return edit{}, nil
		}
		return s.put(ErrorKey, &message, valueNote(s.author(), message)), nil
	})
}

func (s *Store) editMembers(cm *configMap, key string, with func(members []string, authors map[string]author) []string) (edit, error) {
	members, err := decodeMembers(key, cm.Data[key])
	if err != nil {
		return edit{}, err
	}
	authors := cm.memberAuthors(key)
	members = with(members, authors)
	slices.Sort(members)
	members = slices.Compact(members)
	maps.DeleteFunc(authors, func(member string, _ author) bool { return !slices.Contains(members, member) })
	if len(members) == 0 {
		return s.put(key, nil, nil), nil
	}
	value := encodeMembers(members)
	return s.put(key, &value, membersNote(authors)), nil
}

func (s *Store) author() author {
	return author{s.cfg.Publisher.String(), s.cfg.Incarnation}
}

func (s *Store) put(key string, value, note *string) edit {
	schema := Schema
	return edit{
		data:        map[string]*string{key: value},
		annotations: map[string]*string{SchemaAnnotation: &schema, publisherAnnotation(key): note},
	}
}

// to is a write of key, or of member of the list key.
func (s *Store) to(verb, key, member string) write {
	return write{verb, key, s.cfg.place(key, member)}
}
