package registry

import "maps"

// configMap is the part of the object that this package reads and writes.
type configMap struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`

	folded *folded // once read; see prepare
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
