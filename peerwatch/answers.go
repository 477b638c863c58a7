package peerwatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// believe lets through only answers that an API server gives to what was asked. A proxy that claims success with a page
// or an empty object would else say that everything is gone.
func believe(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return believing{next} })
	return cfg
}

// believing is a transport that turns answers which are none into errors.
type believing struct{ next http.RoundTripper }

func (b believing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	check := checkOf(req)
	if err != nil || check == nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if err := check(body); err != nil {
		return nil, fmt.Errorf("no answer of an API server: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// checkOf is what is asked of the body; nil for watches, logs, and what is written but for patches.
func checkOf(req *http.Request) func([]byte) error {
	_, rest, _ := strings.Cut(req.URL.Path, "/namespaces/")
	parts := strings.Split(rest, "/")[1:] // PLURAL, PLURAL/NAME, or more
	query := req.URL.Query()
	switch {
	case query.Has("watch") || (req.Method != http.MethodGet && req.Method != http.MethodPatch):
		return nil
	case len(parts) == 1:
		return func(body []byte) error { return checkList(body, query) }
	case len(parts) == 2:
		return func(body []byte) error { return checkObject(body, parts[1]) }
	}
	return nil
}

// identified is what tells one object from another.
type identified struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name   string            `json:"name"`
		UID    string            `json:"uid"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

func (i identified) check(name string) error {
	if i.Metadata.UID == "" || (name != "" && i.Metadata.Name != name) {
		return fmt.Errorf("%s %q with UID %q, where %q was asked for", i.Kind, i.Metadata.Name, i.Metadata.UID, name)
	}
	return nil
}

func checkObject(body []byte, name string) error {
	var object identified
	if err := json.Unmarshal(body, &object); err != nil {
		return err
	}
	return object.check(name)
}

// checkList: a list says that it is one, of which version, and has items, be they none.
func checkList(body []byte, query url.Values) error {
	var list struct {
		Kind     string `json:"kind"`
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	if !strings.HasSuffix(list.Kind, "List") || list.Metadata.ResourceVersion == "" || len(list.Items) == 0 {
		return fmt.Errorf("kind %q, version %q: want a list of items", list.Kind, list.Metadata.ResourceVersion)
	}
	var items []identified
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err = errors.Join(err, json.Unmarshal(list.Items, &items)); err != nil {
		return err
	}
	name := strings.TrimPrefix(query.Get("fieldSelector"), "metadata.name=")
	for _, item := range items {
		if err := item.check(name); err != nil {
			return err
		}
		if !selector.Matches(labels.Set(item.Metadata.Labels)) {
			return fmt.Errorf("%q, which %s does not select", item.Metadata.Name, selector)
		}
	}
	return nil
}
