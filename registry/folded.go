package registry

import (
	"encoding/json"
	"maps"
	"slices"
)

// FoldedAnnotation of the run's ConfigMap records what a [Folder] put there, as JSON: fingerprints of values and of
// members. What differs from its fingerprint was written by somebody else since.
const FoldedAnnotation = "tandem.dev/folded"

// folded is what FoldedAnnotation records.
type folded struct {
	incarnation string
	values      map[string]string          // key to fingerprint
	lists       map[string]map[string]bool // key to the fingerprints of its members
}

// foldedNote is its JSON.
type foldedNote struct {
	Incarnation string              `json:"incarnation,omitempty"`
	Values      map[string]string   `json:"values,omitempty"`
	Lists       map[string][]string `json:"lists,omitempty"`
}

// prepare reads the record once, for an object that many will look at.
func (c *configMap) prepare() {
	f := c.readFolded()
	c.folded = &f
}

// readFolded is empty where there are no shards. An annotation that somebody broke counts as empty: then what was
// folded counts as written directly, and nothing is lost.
func (c *configMap) readFolded() folded {
	if c.folded != nil {
		return *c.folded
	}
	var note foldedNote
	if text := c.Metadata.Annotations[FoldedAnnotation]; text != "" {
		_ = json.Unmarshal([]byte(text), &note)
	}
	f := folded{note.Incarnation, note.Values, make(map[string]map[string]bool, len(note.Lists))}
	for key, prints := range note.Lists {
		f.lists[key] = make(map[string]bool, len(prints))
		for _, print := range prints {
			f.lists[key][print] = true
		}
	}
	return f
}

// note is nil when nothing is folded.
func (f folded) note() *string {
	if len(f.values) == 0 && len(f.lists) == 0 {
		return nil
	}
	note := foldedNote{f.incarnation, f.values, make(map[string][]string, len(f.lists))}
	for key, prints := range f.lists {
		note.Lists[key] = slices.Sorted(maps.Keys(prints))
	}
	raw, _ := json.Marshal(note) // maps and slices of strings always encode
	text := string(raw)
	return &text
}

func (f folded) isList(key string) bool { return f.lists[key] != nil }

func (f folded) isKey(key string) bool { return f.isList(key) || f.values[key] != "" }

func (f folded) hasValue(key, value string) bool {
	print := f.values[key]
	return print != "" && print == fingerprint(value)
}

func (f folded) hasMember(key, member string) bool {
	return f.isList(key) && f.lists[key][fingerprint(member)]
}

// keys are all that is folded.
func (f folded) keys() []string {
	return slices.Concat(slices.Collect(maps.Keys(f.values)), slices.Collect(maps.Keys(f.lists)))
}
