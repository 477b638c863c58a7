package registry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func current(incarnation string, cm *configMap) *configMap {
	if incarnation != "" {
		cm.Metadata.Annotations[IncarnationAnnotation] = incarnation
	}
	return cm
}

// TestWhoSeesWhat is R7: readers never see what an older incarnation of the run wrote.
func TestWhoSeesWhat(t *testing.T) {
	mixed := object("1", "l", `["a"]`)
	value := `["a", "b", "p"]`
	mixed = apply(mixed, edit{
		data: map[string]*string{"l": &value},
		annotations: map[string]*string{publisherAnnotation("l"): membersNote(map[string]author{
			"a": {"pod/uid", "1"}, "b": {"pod/uid", "2"},
		})},
	})
	overwritten := object("1", "k", "old")
	overwritten.Data["k"] = "written by NeMo-RL's class, which leaves the annotation"
	for _, tc := range []struct {
		name, reader string
		cm           *configMap
		key, want    string // empty: not there
	}{
		{"no incarnations at all", "", object("", "k", "v"), "k", "v"},
		{"the reader's own", "2", object("2", "k", "v"), "k", "v"},
		{"an older one's", "2", object("1", "k", "v"), "k", ""},
		{"an older one's, though nobody has reset yet", "2", current("1", object("1", "k", "v")), "k", ""},
		{"one without, nobody has reset yet", "2", current("1", object("", "k", "v")), "k", ""},
		{"one without counts as the current one's", "2", current("2", object("", "k", "v")), "k", "v"},
		{"one without, where none is current", "2", object("", "k", "v"), "k", "v"},
		{"a reader without one sees the current one's", "", current("2", object("2", "k", "v")), "k", "v"},
		{"and no other's", "", current("2", object("1", "k", "v")), "k", ""},
		{"a stale reader sees nothing new", "1", current("2", object("2", "k", "v")), "k", ""},
		{"members of the others are left out", "2", current("2", mixed), "l", `["b", "p"]`},
		{"an annotation about an older value says nothing", "2", current("2", overwritten), "k", overwritten.Data["k"]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			value, ok := tc.cm.seenBy(tc.reader).value(tc.key)
			require.Equal(t, tc.want != "", ok)
			if ok {
				require.Equal(t, tc.want, value)
			}
		})
	}
}

func TestFailureOfAnOlderIncarnation(t *testing.T) {
	cm := current("2", object("1", ErrorKey, "out of memory"))
	require.NoError(t, cm.seenBy("2").failure())
	require.ErrorIs(t, cm.seenBy("1").failure(), ErrFailed)
	require.ErrorIs(t, object("", ErrorKey, "x").seenBy("2").failure(), ErrFailed)
}

func TestReset(t *testing.T) {
	before := object("1", "old", "1", ErrorKey, "out of memory")
	before.Data["people"] = "x"
	before.Data["l"] = `["a", "b"]`
	before.Metadata.Annotations[publisherAnnotation("l")] = `{"a":"pod/uid@1","b":"pod/uid@2"}`
	after := apply(before, before.reset("2"))
	require.Equal(t, map[string]string{"l": `["b"]`}, after.Data)
	require.Equal(t, map[string]string{
		IncarnationAnnotation: "2", publisherAnnotation("l"): `{"b":"pod/uid@2"}`,
	}, after.Metadata.Annotations)

	after.Data["people"] = "y"
	again := apply(after, after.reset("2"))
	require.Equal(t, map[string]string{"l": `["b"]`, "people": "y"}, again.Data, "what came since belongs to 2")
}
