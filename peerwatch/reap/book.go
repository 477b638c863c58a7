package reap

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Book is what was deleted and which nodes are excluded. It is kept in a ConfigMap, one key for each node: whoever removes
// the key has the node looked at as if nothing had been.
type Book struct {
	// Pages are by node.
	Pages map[string]Page
	// version is of the ConfigMap that the book was read from: nobody writes over what he has not read.
	version string
}

// Page is what the book says about one node.
type Page struct {
	Deletions []Deletion `json:"deletions,omitempty"`
	Excluded  *Exclusion `json:"excluded,omitempty"`
}

// Deletion is one pod that was deleted, or was about to be.
type Deletion struct {
	At   time.Time `json:"at"`
	Pod  string    `json:"pod"`
	UID  string    `json:"uid"`
	Gang string    `json:"gang"`
}

// Exclusion says why a node is excluded. Tainted: it has been given the taint, which is done once.
type Exclusion struct {
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Tainted bool      `json:"tainted,omitempty"`
}

// exclusionFor is how long an exclusion is remembered, so that nodes that come and go do not fill the book.
const exclusionFor = 30 * 24 * time.Hour

// keyPrefix precedes the node in a key of the ConfigMap.
const keyPrefix = "node."

// openBook reads a book.
func openBook(cm configMap) (Book, error) {
	book := Book{Pages: map[string]Page{}, version: cm.Metadata.ResourceVersion}
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) { // so that of several broken keys the same one is named each time
		node, found := strings.CutPrefix(key, keyPrefix)
		if !found {
			continue
		}
		var page Page
		if err := json.Unmarshal([]byte(cm.Data[key]), &page); err != nil {
			return Book{}, fmt.Errorf("key %s is not what reap writes (remove it to begin again with the node): %w", key, err)
		}
		book.Pages[node] = page
	}
	return book, nil
}

// patch is the merge patch that makes the ConfigMap of old say what b says, or fails with a conflict.
func (b Book) patch(old Book) (map[string]any, error) {
	data := map[string]any{}
	for node := range old.Pages {
		if _, kept := b.Pages[node]; !kept {
			data[keyPrefix+node] = nil
		}
	}
	for node, page := range b.Pages {
		text, err := json.Marshal(page)
		if err != nil {
			return nil, err
		}
		data[keyPrefix+node] = string(text)
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": old.version}, "data": data}, nil
}

// with is the book after one page was changed. The old one stays as it is.
func (b Book) with(node string, change func(*Page)) Book {
	pages := maps.Clone(b.Pages)
	if pages == nil {
		pages = map[string]Page{}
	}
	page := pages[node]
	page.Deletions = slices.Clone(page.Deletions)
	change(&page)
	pages[node] = page
	return Book{Pages: pages, version: b.version}
}

// withDeletion books a pod, once.
func (b Book) withDeletion(pod Pod, now time.Time) Book {
	if b.has(pod) {
		return b
	}
	return b.with(pod.Node, func(page *Page) {
		page.Deletions = append(page.Deletions, Deletion{At: now, Pod: pod.Name, UID: pod.UID, Gang: pod.Gang})
	})
}

func (b Book) withExclusion(node, reason string, now time.Time) Book {
	if b.Pages[node].Excluded != nil {
		return b
	}
	return b.with(node, func(page *Page) { page.Excluded = &Exclusion{At: now, Reason: reason} })
}

func (b Book) withTaint(node string) Book {
	return b.with(node, func(page *Page) {
		if page.Excluded != nil {
			excluded := *page.Excluded
			excluded.Tainted = true
			page.Excluded = &excluded
		}
	})
}

// forget leaves out what counts no more.
func (b Book) forget(memory time.Duration, now time.Time) Book {
	pages := map[string]Page{}
	for node, page := range b.Pages {
		kept := Page{Excluded: page.Excluded}
		for _, d := range page.Deletions {
			if now.Sub(d.At) < memory {
				kept.Deletions = append(kept.Deletions, d)
			}
		}
		if kept.Excluded != nil && now.Sub(kept.Excluded.At) >= exclusionFor {
			kept.Excluded = nil
		}
		if kept.Excluded != nil || len(kept.Deletions) > 0 {
			pages[node] = kept
		}
	}
	return Book{Pages: pages, version: b.version}
}

// same tells whether the two say the same.
func (b Book) same(other Book) bool { return reflect.DeepEqual(b.Pages, other.Pages) }

// excluded is the number of excluded nodes.
func (b Book) excluded() int {
	count := 0
	for _, page := range b.Pages {
		if page.Excluded != nil {
			count++
		}
	}
	return count
}

// has tells whether this very incarnation is booked.
func (b Book) has(pod Pod) bool {
	return slices.ContainsFunc(b.Pages[pod.Node].Deletions, func(d Deletion) bool { return d.UID == pod.UID })
}

// onNode, ofGang and all are the times of deletions, sorted.
func (b Book) onNode(node string) []time.Time {
	return times(b.Pages[node].Deletions)
}

func (b Book) ofGang(gang string) []time.Time {
	return times(slices.DeleteFunc(b.deletions(), func(d Deletion) bool { return d.Gang != gang }))
}

func (b Book) all() []time.Time { return times(b.deletions()) }

func (b Book) deletions() []Deletion {
	var all []Deletion
	for _, page := range b.Pages {
		all = append(all, page.Deletions...)
	}
	return all
}

func times(deletions []Deletion) []time.Time {
	list := make([]time.Time, len(deletions))
	for i, d := range deletions {
		list[i] = d.At
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}
