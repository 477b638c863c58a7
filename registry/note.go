package registry

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// A note says who wrote: "pod/uid@incarnation", either side of the mark may be missing. The note of a plain value ends
// in "#" and a fingerprint of the value, because NeMo-RL's class replaces values and leaves annotations alone.
const (
	incarnationMark = "@"
	valueMark       = "#"
)

// author is who wrote a key or a member, as far as they said so.
type author struct{ publisher, incarnation string }

func parseAuthor(note string) author {
	publisher, incarnation, _ := strings.Cut(note, incarnationMark)
	return author{publisher, incarnation}
}

func (a author) String() string {
	if a.incarnation == "" {
		return a.publisher
	}
	return a.publisher + incarnationMark + a.incarnation
}

func (a author) unknown() bool { return a == author{} }

// valueNote is the annotation of a plain value; an author who did not say who they are leaves none.
func valueNote(a author, value string) *string {
	if a.unknown() {
		return nil
	}
	note := a.String() + valueMark + fingerprint(value)
	return &note
}

// valueAuthor reads it back. A note about another value says nothing about this one.
func (c *configMap) valueAuthor(key string) author {
	note, print, found := strings.Cut(c.Metadata.Annotations[publisherAnnotation(key)], valueMark)
	if !found || print != fingerprint(c.Data[key]) {
		return author{}
	}
	return parseAuthor(note)
}

// memberAuthors reads the annotation of a list.
func (c *configMap) memberAuthors(key string) map[string]author {
	notes := map[string]string{}
	_ = json.Unmarshal([]byte(c.Metadata.Annotations[publisherAnnotation(key)]), &notes) // of a plain value: nobody
	authors := make(map[string]author, len(notes))
	for member, note := range notes {
		authors[member] = parseAuthor(note)
	}
	return authors
}

// membersNote writes it; nobody left is no annotation.
func membersNote(authors map[string]author) *string {
	notes := make(map[string]string, len(authors))
	for member, a := range authors {
		if !a.unknown() {
			notes[member] = a.String()
		}
	}
	if len(notes) == 0 {
		return nil
	}
	raw, _ := json.Marshal(notes) // a map of strings always encodes
	note := string(raw)
	return &note
}

// publishers are the pods that wrote key, sorted.
func (c *configMap) publishers(key string) []string {
	names := map[string]bool{c.valueAuthor(key).publisher: true}
	for _, a := range c.memberAuthors(key) {
		names[a.publisher] = true
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// fingerprint is short, because there may be one for each of a thousand values.
func fingerprint(value string) string {
	sum := sha256.Sum256([]byte(value))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
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
