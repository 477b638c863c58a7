package registry

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

func TestNewRefusesBadNames(t *testing.T) {
	for _, tc := range []struct {
		name     string
		cfg      Config
		problems []string
	}{
		{"no run and no namespace", Config{}, []string{"run: required", `namespace ""`}},
		{"R9 upper case", Config{Run: "Qwen", Namespace: "train"}, []string{`run "Qwen"`, "lowercase"}},
		{"R9 underscore", Config{Run: "a_b", Namespace: "train"}, []string{`run "a_b"`}},
		{"R9 too long with the prefix", Config{Run: strings.Repeat("a", 250), Namespace: "train"}, []string{"no more than 253"}},
		{"R14 no namespace", Config{Run: "a"}, []string{`namespace ""`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(tc.cfg, &rest.Config{Host: "http://127.0.0.1:1"})
			for _, problem := range tc.problems {
				require.ErrorContains(t, err, problem)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	for _, key := range []string{"gym_head_server", "a.b-c", "A", ".a", strings.Repeat("k", 253)} {
		require.NoError(t, checkKey(key), key)
		require.Empty(t, validation.IsConfigMapKey(key), "the API server agrees")
	}
	for _, key := range []string{"", "a b", "a/b", ".", "..", "..a", "ü", strings.Repeat("k", 254)} {
		require.ErrorIs(t, checkKey(key), ErrBadKey, key)
	}
}

func TestEveryKeyHasAnAnnotation(t *testing.T) {
	for _, key := range []string{"gym_head_server", "ends-", strings.Repeat("k", 253), ".a"} {
		require.Empty(t, validation.IsQualifiedName(publisherAnnotation(key)), key)
	}
	require.NotEqual(t, publisherAnnotation("a-"), publisherAnnotation("b-"))
}

// FuzzKey: what is taken is taken by the API server too, and has an annotation.
func FuzzKey(f *testing.F) {
	f.Add("gym_head_server")
	f.Fuzz(func(t *testing.T, key string) {
		if err := checkKey(key); err != nil {
			require.ErrorIs(t, err, ErrBadKey)
			return
		}
		require.Empty(t, validation.IsConfigMapKey(key))
		require.Empty(t, validation.IsQualifiedName(publisherAnnotation(key)))
	})
}
