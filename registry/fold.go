package registry

import (
	"maps"
	"slices"
)

// fold is the pure part of a [Folder]: what to change in the run's ConfigMap so that it shows what the shards hold.
type fold struct {
	run    *configMap
	was    folded
	shards []*configMap // by number; nil is not read yet
	home   func(key string) int
	gone   map[string]bool // publishers whose pod is gone
	skip   []string        // keys that are left alone, because of who wrote them

	now  folded
	edit edit
}

func newFold(run *configMap, shards []*configMap, home func(key string) int, gone map[string]bool) *fold {
	return &fold{
		run: run, was: run.readFolded(), shards: shards, home: home, gone: gone,
		now:  folded{run.incarnation(), map[string]string{}, map[string]map[string]bool{}},
		edit: edit{map[string]*string{}, map[string]*string{}},
	}
}

// decide returns the edit.
func (f *fold) decide() edit {
	wanted := f.wanted()
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		f.key(key, wanted[key])
	}
	for _, key := range f.was.keys() {
		if _, still := wanted[key]; !still {
			f.drop(key)
		}
	}
	schema := Schema
	f.edit.annotations[SchemaAnnotation] = &schema
	f.edit.annotations[FoldedAnnotation] = f.now.note()
	return f.edit
}

// found is what one shard holds under a key.
type found struct {
	shard int
	value string
}

// wanted collects what the shards hold of the run's current incarnation.
func (f *fold) wanted() map[string][]found {
	wanted := map[string][]found{}
	for i, shard := range f.shards {
		if shard == nil {
			continue
		}
		v := view{configMap: shard, wants: f.run.incarnation(), unnamed: f.run.incarnation(), gone: f.gone}
		for key := range shard.Data {
			if value, ok := v.value(key); ok && key != ErrorKey {
				wanted[key] = append(wanted[key], found{i, value})
			}
		}
	}
	return wanted
}

// complete tells whether every shard is known. Until then nothing is taken away.
func (f *fold) complete() bool { return !slices.Contains(f.shards, nil) }

func (f *fold) key(key string, all []found) {
	if members, isList := union(key, all); isList {
		f.list(key, members)
		return
	}
	f.value(key, f.choose(key, all))
}

// union is the sorted union, if everything found is a list.
func union(key string, all []found) (members []string, isList bool) {
	for _, one := range all {
		list, err := decodeMembers(key, one.value)
		if err != nil || one.value == "" {
			return nil, false
		}
		members = append(members, list...)
	}
	slices.Sort(members)
	return slices.Compact(members), true
}

// choose is the value of the shard that a plain value belongs to. Another shard holds one only where the number of
// shards has changed.
func (f *fold) choose(key string, all []found) string {
	for _, one := range all {
		if one.shard == f.home(key) {
			return one.value
		}
	}
	return all[0].value
}

// value folds a plain value, unless somebody wrote the key directly.
func (f *fold) value(key, value string) {
	have, ok := f.run.Data[key]
	if ok && !f.was.hasValue(key, have) && !f.was.isList(key) {
		f.skip = append(f.skip, key)
		return
	}
	f.now.values[key] = fingerprint(value)
	f.set(key, value)
}

// list folds a list. Members that somebody joined directly stay beside those of the shards.
func (f *fold) list(key string, members []string) {
	have, err := decodeMembers(key, f.run.Data[key])
	if err != nil && !f.was.hasValue(key, f.run.Data[key]) {
		f.skip = append(f.skip, key)
		return
	}
	if !f.complete() {
		members = append(members, f.foldedMembers(key)...)
	}
	direct := slices.DeleteFunc(have, func(m string) bool { return f.was.hasMember(key, m) })
	f.now.lists[key] = prints(members, direct)
	f.setMembers(key, append(members, direct...))
}

// prints are the fingerprints of members without those that were joined directly.
func prints(members, direct []string) map[string]bool {
	set := make(map[string]bool, len(members))
	for _, member := range members {
		set[fingerprint(member)] = true
	}
	for _, member := range direct {
		delete(set, fingerprint(member))
	}
	return set
}

// foldedMembers are those that an earlier fold put there.
func (f *fold) foldedMembers(key string) []string {
	have, _ := decodeMembers(key, f.run.Data[key])
	return slices.DeleteFunc(have, func(m string) bool { return !f.was.hasMember(key, m) })
}

// drop takes away what was folded and is in no shard any more.
func (f *fold) drop(key string) {
	if !f.complete() {
		f.keep(key)
		return
	}
	have, ok := f.run.Data[key]
	if !f.was.isList(key) {
		if ok && f.was.hasValue(key, have) {
			f.edit.data[key] = nil
		}
		return
	}
	members, err := decodeMembers(key, have)
	if !ok || err != nil {
		return
	}
	direct := slices.DeleteFunc(members, func(m string) bool { return f.was.hasMember(key, m) })
	if len(direct) == 0 {
		f.edit.data[key] = nil
		return
	}
	f.setMembers(key, direct)
}

func (f *fold) keep(key string) {
	if f.was.isList(key) {
		f.now.lists[key] = f.was.lists[key]
	} else {
		f.now.values[key] = f.was.values[key]
	}
}

func (f *fold) setMembers(key string, members []string) {
	slices.Sort(members)
	members = slices.Compact(members)
	have, err := decodeMembers(key, f.run.Data[key])
	if _, there := f.run.Data[key]; there && err == nil && slices.Equal(have, members) {
		return // the bytes of whoever wrote the same list stay
	}
	f.set(key, encodeMembers(members))
}

func (f *fold) set(key, value string) {
	if have, ok := f.run.Data[key]; !ok || have != value {
		f.edit.data[key] = &value
	}
}
