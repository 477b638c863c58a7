package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The API server's limits: all of data, and all annotations.
const (
	maxData        = 1 << 20
	maxAnnotations = 256 << 10
)

// configMap is the part of the object that this package reads and writes.
type configMap struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
}

// failure is the run's error, or nil.
func (c *configMap) failure() error {
	if message := c.Data[ErrorKey]; message != "" {
		return &FailedError{Message: message}
	}
	return nil
}

func (c *configMap) endpoints() []Endpoint {
	list := make([]Endpoint, 0, len(c.Data))
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		list = append(list, Endpoint{Key: key, Value: c.Data[key], Publishers: c.publishers(key)})
	}
	return list
}

func (c *configMap) publishers(key string) []string {
	note := c.Metadata.Annotations[publisherAnnotation(key)]
	if note == "" {
		return nil
	}
	byMember, isList := decodeOwners(note)
	if !isList {
		return []string{note}
	}
	return slices.Compact(slices.Sorted(maps.Values(byMember)))
}

// decodeOwners reads the annotation of a list: member to publisher.
func decodeOwners(note string) (owners map[string]string, isList bool) {
	owners = map[string]string{}
	if err := json.Unmarshal([]byte(note), &owners); err != nil {
		return map[string]string{}, false
	}
	return owners, true
}

// encodeOwners writes it; nobody left is no annotation.
func encodeOwners(owners map[string]string) *string {
	if len(owners) == 0 {
		return nil
	}
	raw, _ := json.Marshal(owners) // a map of strings always encodes
	note := string(raw)
	return &note
}

// publisherAnnotation is the annotation of a key. Not every key can end a label name (63 characters, no dash at the
// end); such a key is hashed.
func publisherAnnotation(key string) string {
	name := PublisherAnnotation + key
	if len(validation.IsQualifiedName(name)) == 0 {
		return name
	}
	sum := sha256.Sum256([]byte(key))
	return PublisherAnnotation + "sha256-" + hex.EncodeToString(sum[:12])
}

// edit is a change to one key: what a merge patch says, so nil removes.
type edit struct {
	data        map[string]*string
	annotations map[string]*string
}

// changes tells whether e is worth a write. The schema's version alone is not.
func (e edit) changes(c *configMap) bool {
	notes := maps.Clone(e.annotations)
	delete(notes, SchemaAnnotation)
	return differs(c.Data, e.data) || differs(c.Metadata.Annotations, notes)
}

func differs(have map[string]string, want map[string]*string) bool {
	for key, value := range want {
		old, ok := have[key]
		if ok != (value != nil) || (ok && old != *value) {
			return true
		}
	}
	return false
}

// checkSize refuses what the API server would refuse, and says by how much.
func (e edit) checkSize(c *configMap) error {
	if size := valuesAfter(c.Data, e.data); size > maxData {
		return fmt.Errorf("%w: data would hold %d bytes, %d more than a ConfigMap may", ErrFull, size, size-maxData)
	}
	notes, changed := c.Metadata.Annotations, e.annotations
	if size := keysAfter(notes, changed) + valuesAfter(notes, changed); size > maxAnnotations {
		return fmt.Errorf("%w: annotations would hold %d bytes, %d more than they may", ErrFull, size, size-maxAnnotations)
	}
	return nil
}

// valuesAfter is the size of all values once change is applied; the API server does not count the keys of data.
func valuesAfter(have map[string]string, change map[string]*string) int {
	size := 0
	for key, value := range have {
		if _, changed := change[key]; !changed {
			size += len(value)
		}
	}
	for _, value := range change {
		if value != nil {
			size += len(*value)
		}
	}
	return size
}

func keysAfter(have map[string]string, change map[string]*string) int {
	size := 0
	for key := range have {
		if value, changed := change[key]; !changed || value != nil {
			size += len(key)
		}
	}
	for key, value := range change {
		if _, old := have[key]; !old && value != nil {
			size += len(key)
		}
	}
	return size
}

// patch is the JSON merge patch of e. It carries the resourceVersion, so it is refused if anyone wrote in between.
func (e edit) patch(resourceVersion string) any {
	type metadata struct {
		ResourceVersion string             `json:"resourceVersion"`
		Annotations     map[string]*string `json:"annotations,omitempty"`
	}
	return struct {
		Metadata metadata           `json:"metadata"`
		Data     map[string]*string `json:"data,omitempty"`
	}{metadata{resourceVersion, e.annotations}, e.data}
}
