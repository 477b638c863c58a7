package importer

import (
	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// part is the pods of one shape: a head, a worker group, or the pod that submits the driver.
type part struct {
	cluster, name string
	group         *v1alpha1.Group
	overlay       overlay
	// What the whole run has one value of, and where it was found.
	image, pullPolicy, scheduler, priority place
	fallback                               place // the image of a container that names none
	pullSecrets                            []string
	topology                               *topology
	claims                                 []claimUse
	keptClaims                             []any // which the Run has no field for
}

func (p *part) isHead() bool   { return p.name == v1alpha1.GroupHead }
func (p *part) isDriver() bool { return p.name == v1alpha1.GroupDriver }

// container is what tandem calls the first container of the pod.
func (p *part) container() string {
	if p.isDriver() {
		return "driver"
	}
	return "ray"
}

// overlay is a pod template to be merged into that of tandem.
type overlay map[string]any

// set puts a value at a path of keys; nil is nothing to put.
func (o overlay) set(value any, keys ...string) {
	if value == nil {
		return
	}
	at := map[string]any(o)
	for _, key := range keys[:len(keys)-1] {
		next, is := at[key].(map[string]any)
		if !is {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[keys[len(keys)-1]] = value
}

// has tells whether there is a value at a path of keys.
func (o overlay) has(keys ...string) bool {
	at := any(map[string]any(o))
	for _, key := range keys {
		mapping, _ := at.(map[string]any)
		inner, is := mapping[key]
		if !is {
			return false
		}
		at = inner
	}
	return true
}

// add puts items at the end of a list of the pod's spec.
func (o overlay) add(list string, items ...any) {
	if len(items) == 0 {
		return
	}
	spec, _ := o["spec"].(map[string]any)
	have, _ := spec[list].([]any)
	o.set(append(have, items...), "spec", list)
}

// addToContainer merges fields into a container of the pod.
func (o overlay) addToContainer(name string, fields map[string]any) {
	if len(fields) == 0 {
		return
	}
	spec, _ := o["spec"].(map[string]any)
	list, _ := spec["containers"].([]any)
	for _, item := range list {
		if container, _ := item.(map[string]any); container["name"] == name {
			for key, value := range fields {
				container[key] = value
			}
			return
		}
	}
	container := map[string]any{"name": name}
	for key, value := range fields {
		container[key] = value
	}
	o.set(append([]any{container}, list...), "spec", "containers")
}

// merge puts what is left of a mapping at a path, below what is there.
func (o overlay) merge(value any, keys ...string) {
	mapping, is := value.(map[string]any)
	if !is {
		o.set(value, keys...)
		return
	}
	for key, inner := range mapping {
		o.merge(inner, append(append([]string{}, keys...), key)...)
	}
	if len(mapping) == 0 {
		o.set(value, keys...)
	}
}
