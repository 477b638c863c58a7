package registry

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// The right column is what Python 3 prints for json.dumps of the left one.
var dumped = []struct {
	name    string
	members []string
	want    string
}{
	{"an empty list", []string{}, `[]`},
	{"one member", []string{"http://10.0.0.1:8000/v1"}, `["http://10.0.0.1:8000/v1"]`},
	{"a comma and a space between members", []string{"a", "b", "c"}, `["a", "b", "c"]`},
	{"IPv6 in brackets", []string{"http://[fd00::1]:8000/v1"}, `["http://[fd00::1]:8000/v1"]`},
	{"characters that Go escapes and Python does not", []string{"http://h/?a=1&b=<2>"}, `["http://h/?a=1&b=<2>"]`},
	{"quotes, backslashes and control characters", []string{"\"\\/\n\r\t\f\b\x01\x7f"}, `["\"\\/\n\r\t\f\b\u0001\u007f"]`},
	{"beyond ASCII", []string{"ü€😀\u2028"}, `["\u00fc\u20ac\ud83d\ude00\u2028"]`},
}

func TestListIsWrittenAsPythonDoes(t *testing.T) {
	for _, tc := range dumped {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, encodeMembers(tc.members))
		})
	}
}

func TestPythonAgrees(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: no python3 here to compare with")
	}
	for _, tc := range dumped {
		in, err := json.Marshal(tc.members)
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), python, "-c", "import json,sys; print(json.dumps(json.load(sys.stdin)))")
		cmd.Stdin = strings.NewReader(string(in))
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(string(out)), encodeMembers(tc.members), tc.name)
	}
}

func TestListIsRead(t *testing.T) {
	for _, tc := range []struct {
		name, value string
		want        []string
	}{
		{"nothing", "", nil},
		{"empty", "[]", []string{}},
		{"sorted", `["b","a"]`, []string{"a", "b"}},
		{"without duplicates", `["a", "b", "a"]`, []string{"a", "b"}},
		{"without null", `["a", null]`, []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Members(tc.value)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	_, err := decodeMembers("gym_head_server", "http://10.0.0.1:9090")
	require.ErrorIs(t, err, ErrBadValue)
	require.ErrorContains(t, err, `key "gym_head_server" holds "http://10.0.0.1:9090", not a JSON list`)
}

func TestTextIsUTF8(t *testing.T) {
	store := openStore(t, &rest.Config{Host: "http://127.0.0.1:1"}, "a", "")
	for _, err := range []error{
		store.Set(t.Context(), "k", "\xff"), store.Join(t.Context(), "k", "a\xff"), store.Join(t.Context(), "k", ""), store.Fail(t.Context(), ""),
		store.Set(t.Context(), GymKey, "ftp://h"),
	} {
		require.ErrorIs(t, err, ErrBadValue)
		require.ErrorContains(t, err, "configmap default/nemo-rl-endpoints-a")
	}
}

func FuzzListRoundTrip(f *testing.F) {
	f.Add("http://10.0.0.1:8000/v1", "a\x00b")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		var got []string
		require.NoError(t, json.Unmarshal([]byte(encodeMembers([]string{a, b})), &got))
		require.Equal(t, []string{a, b}, got)
	})
}

// FuzzMembers: whatever a key holds, it is refused or it is a list that is written and read without change.
func FuzzMembers(f *testing.F) {
	f.Add(`["http://10.0.0.1:8000/v1", null]`)
	f.Fuzz(func(t *testing.T, value string) {
		members, err := Members(value)
		if err != nil {
			require.ErrorIs(t, err, ErrBadValue)
			return
		}
		again, err := Members(encodeMembers(members))
		require.NoError(t, err)
		require.ElementsMatch(t, members, again)
		require.IsNonDecreasing(t, append([]string{""}, again...))
	})
}
