package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// IncarnationAnnotation of the ConfigMap (and of its shards) holds the run's current incarnation.
const IncarnationAnnotation = "tandem.dev/incarnation"

var incarnationSyntax = regexp.MustCompile(`^[-._a-zA-Z0-9]{0,63}$`)

func checkIncarnation(incarnation string) error {
	if !incarnationSyntax.MatchString(incarnation) {
		return fmt.Errorf("incarnation %q: use up to 63 of the characters a-z A-Z 0-9 . _ -", incarnation)
	}
	return nil
}

func (c *configMap) incarnation() string { return c.Metadata.Annotations[IncarnationAnnotation] }

// admits tells whether a writer of an incarnation may write: none and the current one may.
func (c *configMap) admits(incarnation string) error {
	current := c.incarnation()
	if incarnation == "" || current == "" || incarnation == current {
		return nil
	}
	return fmt.Errorf("%w: this process belongs to incarnation %q of the run, the current one is %q", ErrStale, incarnation, current)
}

// view is what a reader of one incarnation sees of a ConfigMap. Without one of its own the reader sees the current one.
type view struct {
	*configMap
	wants   string          // empty: everything
	unnamed string          // the incarnation of what carries none; empty: any
	gone    map[string]bool // publishers whose pod is gone
	folded  folded
}

func (c *configMap) seenBy(incarnation string) view {
	current := c.incarnation()
	return view{configMap: c, wants: cmp.Or(incarnation, current), unnamed: current, folded: c.readFolded()}
}

// value is what the reader sees under key: never anything of another incarnation. A list loses the members of others.
func (v view) value(key string) (string, bool) {
	value, ok := v.Data[key]
	if !ok {
		return "", false
	}
	authors := v.memberAuthors(key)
	if len(authors) == 0 && !v.folded.isList(key) {
		return value, v.shows(v.authorOf(key, value))
	}
	return v.list(key, value, authors)
}

func (v view) list(key, value string, authors map[string]author) (string, bool) {
	members, err := decodeMembers(key, value)
	if err != nil {
		return value, v.shows(author{}) // replaced by something that is no list
	}
	var seen []string
	for _, member := range members {
		if v.shows(v.memberAuthor(key, member, authors)) {
			seen = append(seen, member)
		}
	}
	switch len(seen) {
	case len(members):
		return value, true // byte for byte
	case 0:
		return "", false
	}
	return encodeMembers(seen), true
}

// shows tells whether the reader sees what a wrote.
func (v view) shows(a author) bool {
	by := cmp.Or(a.incarnation, v.unnamed)
	return (v.wants == "" || by == "" || by == v.wants) && !v.gone[a.publisher]
}

func (v view) authorOf(key, value string) author {
	if v.folded.hasValue(key, value) {
		return author{incarnation: v.folded.incarnation}
	}
	return v.valueAuthor(key)
}

func (v view) memberAuthor(key, member string, authors map[string]author) author {
	if v.folded.hasMember(key, member) {
		return author{incarnation: v.folded.incarnation}
	}
	return authors[member]
}

// failure is the run's error as the reader sees it, or nil. It outlives the pod that reported it.
func (v view) failure() error {
	v.gone = nil
	if message, ok := v.value(ErrorKey); ok && message != "" {
		return &FailedError{Message: message}
	}
	return nil
}

// Reset makes incarnation the current one and removes what others wrote, the failure of the run among it. From then on
// their writers are refused. It is idempotent; the first process of a new attempt calls it before any publishes.
func (s *Store) Reset(ctx context.Context, incarnation string) error {
	if incarnation == "" {
		return fmt.Errorf("%w: reset: an incarnation is required", ErrBadValue)
	}
	if err := checkIncarnation(incarnation); err != nil {
		return fmt.Errorf("%w: reset: %w", ErrBadValue, err)
	}
	for _, name := range append([]string{s.Name()}, s.cfg.ShardNames()...) {
		err := s.change(ctx, write{verbReset, incarnation, name}, func(cm *configMap) (edit, error) {
			return cm.reset(incarnation), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reset is the edit that leaves only what incarnation wrote. What carries no incarnation was written by the one that was
// current until now, if any.
func (c *configMap) reset(incarnation string) edit {
	v := view{configMap: c, wants: incarnation, unnamed: cmp.Or(c.incarnation(), "none"+incarnationMark), folded: c.readFolded()}
	e := edit{data: map[string]*string{}, annotations: map[string]*string{IncarnationAnnotation: &incarnation}}
	for key, value := range c.Data {
		kept, ok := v.value(key)
		switch {
		case !ok:
			e.data[key], e.annotations[publisherAnnotation(key)] = nil, nil
		case kept != value:
			e.data[key], e.annotations[publisherAnnotation(key)] = &kept, c.notesWithin(key, kept)
		}
	}
	if v.folded.incarnation != incarnation {
		e.annotations[FoldedAnnotation] = nil
	}
	return e
}

// notesWithin is the note of a list that shrank to value.
func (c *configMap) notesWithin(key, value string) *string {
	members, _ := decodeMembers(key, value)
	authors := c.memberAuthors(key)
	maps.DeleteFunc(authors, func(member string, _ author) bool { return !slices.Contains(members, member) })
	return membersNote(authors)
}
