package registry

import (
	"encoding/json"
	"maps"
	"slices"
)

// FoldedAnnotation of the run's ConfigMap records what a [Folder] put there, as JSON: fingerprints of values and of
// members. What differs from its fingerprint was written by somebody else since.
const FoldedAnnotation = "tandem.dev/folded"

// folded is the content of FoldedAnnotation.
type folded struct {
	Incarnation string              `json:"incarnation,omitempty"`
	Values      map[string]string   `json:"values,omitempty"`
	Lists       map[string][]string `json:"lists,omitempty"`
}

// readFolded is empty where there are no shards. An annotation that somebody broke counts as empty: then what was
// folded counts as written directly, and nothing is lost.
func (c *configMap) readFolded() folded {
	var f folded
	if note := c.Metadata.Annotations[FoldedAnnotation]; note != "" {
		_ = json.Unmarshal([]byte(note), &f)
	}
	return f
}

// note is nil when nothing is folded.
func (f folded) note() *string {
	if len(f.Values) == 0 && len(f.Lists) == 0 {
		return nil
	}
	raw, _ := json.Marshal(f) // maps and slices of strings always encode
	note := string(raw)
	return &note
}

func (f folded) isList(key string) bool { return f.Lists[key] != nil }

func (f folded) isKey(key string) bool { return f.isList(key) || f.Values[key] != "" }

func (f folded) hasValue(key, value string) bool {
	print := f.Values[key]
	return print != "" && print == fingerprint(value)
}

func (f folded) hasMember(key, member string) bool {
	return slices.Contains(f.Lists[key], fingerprint(member))
}

// keys are all that is folded, sorted.
func (f folded) keys() []string {
	keys := map[string]bool{}
	for key := range f.Values {
		keys[key] = true
	}
	for key := range f.Lists {
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
