package registry

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// object is a ConfigMap with keys and values in turn, as some process of incarnation wrote them.
func object(incarnation string, keysAndValues ...string) *configMap {
	cm := &configMap{Data: map[string]string{}}
	cm.Metadata.ResourceVersion = "1"
	cm.Metadata.Annotations = map[string]string{}
	for i := 0; i < len(keysAndValues); i += 2 {
		key, value := keysAndValues[i], keysAndValues[i+1]
		cm.Data[key] = value
		if note := noteOf(author{"pod/uid", incarnation}, value); note != nil {
			cm.Metadata.Annotations[publisherAnnotation(key)] = *note
		}
	}
	return cm
}

func noteOf(by author, value string) *string {
	members, err := Members(value)
	if err != nil {
		return valueNote(by, value)
	}
	authors := map[string]author{}
	for _, member := range members {
		authors[member] = by
	}
	return membersNote(authors)
}

// apply is what the API server does with an edit.
func apply(cm *configMap, e edit) *configMap {
	after := object("")
	merge := func(into, have map[string]string, change map[string]*string) {
		for key, value := range have {
			into[key] = value
		}
		for key, value := range change {
			delete(into, key)
			if value != nil {
				into[key] = *value
			}
		}
	}
	merge(after.Data, cm.Data, e.data)
	merge(after.Metadata.Annotations, cm.Metadata.Annotations, e.annotations)
	return after
}

// folding is a fold step by step: the run's ConfigMap and what its shards hold.
type folding struct {
	run    *configMap
	shards []*configMap
	gone   map[string]bool
}

func (f *folding) fold() {
	fold := newFold(f.run, f.shards, func(string) int { return 0 }, f.gone)
	f.run = apply(f.run, fold.decide())
}

func TestFold(t *testing.T) {
	type step func(*folding)
	shards := func(all ...*configMap) step { return func(f *folding) { f.shards = all } }
	direct := func(key, value string) step {
		return func(f *folding) { f.run = apply(f.run, edit{data: map[string]*string{key: &value}}) }
	}
	remove := func(key string) step {
		return func(f *folding) { f.run = apply(f.run, edit{data: map[string]*string{key: nil}}) }
	}
	fold := func(f *folding) { f.fold() }
	for _, tc := range []struct {
		name  string
		steps []step
		want  map[string]string
	}{
		{"values of all shards", []step{shards(object("", "a", "1"), object("", "b", "2")), fold}, map[string]string{"a": "1", "b": "2"}},
		{"a list is the sorted union", []step{shards(object("", "l", `["c", "a"]`), object("", "l", `["b", "a"]`)), fold}, map[string]string{"l": `["a", "b", "c"]`}},
		{"an empty list stays a list", []step{shards(object("", "l", `[]`)), fold}, map[string]string{"l": `[]`}},
		{"a new value replaces the old", []step{shards(object("", "a", "1")), fold, shards(object("", "a", "2")), fold}, map[string]string{"a": "2"}},
		{"a withdrawn value goes", []step{shards(object("", "a", "1")), fold, shards(object("")), fold}, map[string]string{}},
		{"a withdrawn member goes", []step{shards(object("", "l", `["a", "b"]`)), fold, shards(object("", "l", `["b"]`)), fold}, map[string]string{"l": `["b"]`}},
		{"with the last member goes the key", []step{shards(object("", "l", `["a"]`)), fold, shards(object("")), fold}, map[string]string{}},
		{"a value written directly hides the shards'", []step{direct("a", "people"), shards(object("", "a", "1")), fold}, map[string]string{"a": "people"}},
		{"a value overwritten directly stays", []step{shards(object("", "a", "1")), fold, direct("a", "people"), fold, shards(object("", "a", "2")), fold}, map[string]string{"a": "people"}},
		{"and survives the shards' withdrawal", []step{shards(object("", "a", "1")), fold, direct("a", "people"), shards(object("")), fold}, map[string]string{"a": "people"}},
		{"until it is deleted", []step{shards(object("", "a", "1")), fold, direct("a", "people"), fold, remove("a"), fold}, map[string]string{"a": "1"}},
		{"a folded key deleted directly comes back", []step{shards(object("", "a", "1")), fold, remove("a"), fold}, map[string]string{"a": "1"}},
		{"members written directly stay beside the shards'", []step{direct("l", `["p"]`), shards(object("", "l", `["a"]`)), fold, fold}, map[string]string{"l": `["a", "p"]`}},
		{"and after the shards' withdrawal", []step{shards(object("", "l", `["a"]`)), fold, direct("l", `["a","p"]`), fold, shards(object("")), fold}, map[string]string{"l": `["p"]`}},
		{"a folded member removed directly comes back", []step{shards(object("", "l", `["a", "b"]`)), fold, direct("l", `["b"]`), fold}, map[string]string{"l": `["a", "b"]`}},
		{"a member in both stays while either has it", []step{direct("l", `["a"]`), shards(object("", "l", `["a"]`)), fold, shards(object("")), fold}, map[string]string{"l": `["a"]`}},
		{"the bytes of an equal list stay", []step{direct("l", `["b","a",null]`), shards(object("", "l", `["a"]`)), fold}, map[string]string{"l": `["b","a",null]`}},
		{"a text where the shards hold a list", []step{direct("l", "people"), shards(object("", "l", `["a"]`)), fold}, map[string]string{"l": "people"}},
		{"no shard takes the failure's key", []step{shards(object("", ErrorKey, "x")), fold}, map[string]string{}},
		{"the failure stays", []step{direct(ErrorKey, "x"), shards(object("", "a", "1")), fold}, map[string]string{ErrorKey: "x", "a": "1"}},
		{"the shard that a value belongs to decides", []step{shards(object("", "a", "home"), object("", "a", "1")), fold}, map[string]string{"a": "home"}},
		{"a shard not read yet takes nothing away", []step{
			shards(object("", "a", "1"), object("", "b", "2", "l", `["x"]`)), fold,
			shards(object("", "a", "3", "l", `["y"]`), nil), fold,
		}, map[string]string{"a": "3", "b": "2", "l": `["x", "y"]`}},
		{"until it is read", []step{
			shards(object("", "b", "2", "l", `["x"]`)), fold, shards(nil), fold, shards(object("")), fold,
		}, map[string]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &folding{run: object("")}
			for _, step := range tc.steps {
				step(f)
			}
			require.Equal(t, tc.want, f.run.Data)
			again := newFold(f.run, f.shards, func(string) int { return 0 }, nil).decide()
			require.False(t, again.changes(f.run), "a fold without news writes nothing")
		})
	}
}

func TestFoldLeavesOldIncarnationsBehind(t *testing.T) {
	f := &folding{run: object(""), shards: []*configMap{object("1", "old", "1"), object("2", "new", "2"), object("", "any", "3")}}
	f.run.Metadata.Annotations[IncarnationAnnotation] = "2"
	f.fold()
	require.Equal(t, map[string]string{"new": "2", "any": "3"}, f.run.Data)
	require.Equal(t, "2", f.run.readFolded().incarnation)

	f.run = apply(f.run, f.run.reset("3"))
	require.Empty(t, f.run.Data)
	f.fold()
	require.Equal(t, map[string]string{"any": "3"}, f.run.Data)
}

func TestFoldLeavesGonePublishersBehind(t *testing.T) {
	f := &folding{run: object(""), shards: []*configMap{object("", "a", "1", "l", `["x"]`)}}
	f.fold()
	require.Len(t, f.run.Data, 2)
	f.gone = map[string]bool{"pod/uid": true}
	f.fold()
	require.Empty(t, f.run.Data)
}

// TestFoldConverges: whatever happened in whatever order, the folder that starts last sees what the shards hold.
func TestFoldConverges(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		f := &folding{run: object(""), shards: []*configMap{object(""), object(""), object("")}}
		var want []string
		for range 30 {
			i := random.IntN(len(f.shards))
			members := []string{}
			for range random.IntN(4) {
				members = append(members, fmt.Sprint(random.IntN(9)))
			}
			f.shards[i] = object("", "l", encodeMembers(members))
			if random.IntN(2) == 0 {
				f.fold()
			}
		}
		f.fold()
		for _, shard := range f.shards {
			members, err := Members(shard.Data["l"])
			require.NoError(t, err)
			want = append(want, members...)
		}
		slices.Sort(want)
		got, err := Members(f.run.Data["l"])
		require.NoError(t, err)
		require.Equal(t, slices.Compact(want), slices.Concat(got), "seed %d", seed)
	}
}
