// Package faultyapi counts the requests of a client under test, and answers some of them in the API server's place.
package faultyapi

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Fault answers a request instead of the server; nil lets it through.
type Fault func(*http.Request) *http.Response

// Requests is what a client asked, by method; a watch counts as WATCH.
type Requests struct {
	mu    sync.Mutex
	count map[string]int
	fault Fault
}

// Wrap returns a configuration whose requests are counted and may be broken.
func Wrap(cfg *rest.Config) (*rest.Config, *Requests) {
	r := &Requests{count: map[string]int{}}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if resp := r.meet(req); resp != nil {
				return resp, nil
			}
			return next.RoundTrip(req)
		})
	})
	return cfg, r
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// meet counts a request and asks the fault, one request at a time.
func (r *Requests) meet(req *http.Request) *http.Response {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count[Kind(req)]++
	if r.fault == nil {
		return nil
	}
	return r.fault(req)
}

// Kind is the request's method, or WATCH.
func Kind(req *http.Request) string {
	if req.URL.Query().Has("watch") {
		return "WATCH"
	}
	return req.Method
}

// Of is the number of requests of a kind so far.
func (r *Requests) Of(kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[kind]
}

// All is the number of requests so far.
func (r *Requests) All() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, count := range r.count {
		n += count
	}
	return n
}

// Inject installs a fault, called one at a time; nil heals.
func (r *Requests) Inject(fault Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = fault
}

// Answer is a canned response.
func Answer(req *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}
