package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

// Limits of the interface. A request may carry as much as a ConfigMap may hold; requests that wait are few in a pod.
const (
	maxBody  = 1 << 20
	maxWaits = 256
)

// handler is the HTTP form of a store.
type handler struct {
	store   *registry.Store
	metrics *metrics
	waits   chan struct{} // holds one token for every request that waits
	beat    time.Duration // how often a watch without news is written to
}

func newHandler(store *registry.Store, m *metrics) http.Handler {
	h := handler{store, m, make(chan struct{}, maxWaits), heartbeat}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/endpoints", h.reply(h.list))
	mux.HandleFunc("GET /v1/endpoints/{key}", h.reply(h.get))
	mux.HandleFunc("PUT /v1/endpoints/{key}", h.reply(h.set))
	mux.HandleFunc("DELETE /v1/endpoints/{key}", h.reply(h.delete))
	mux.HandleFunc("POST /v1/endpoints/{key}/members", h.reply(h.join))
	mux.HandleFunc("DELETE /v1/endpoints/{key}/members", h.reply(h.leave))
	mux.HandleFunc("POST /v1/fail", h.reply(h.fail))
	mux.HandleFunc("GET /v1/watch", h.watch)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.reply(h.ready))
	mux.Handle("GET /metrics", m)
	return mux
}

// keyValue is the answer about one key.
type keyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// endpointList is the answer about many.
type endpointList struct {
	Endpoints []registry.Endpoint `json:"endpoints"`
}

type empty struct{}

func (h handler) list(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	list, err := h.store.List(ctx)
	return endpointList{list}, err
}

func (h handler) get(r *http.Request) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		done, err := h.enter()
		if err != nil {
			return nil, err
		}
		defer done()
	}
	key := r.PathValue("key")
	value, err := read(r.Context(), h.store, key, wait)
	if wait > 0 && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w after %s: %w", errTimedOut, wait, err)
	}
	return keyValue{key, value}, err
}

// enter counts a request that waits; it is refused when there are too many.
func (h handler) enter() (done func(), err error) {
	select {
	case h.waits <- struct{}{}:
		h.metrics.Add("tandem_registry_waits", 1)
		return func() { <-h.waits; h.metrics.Add("tandem_registry_waits", -1) }, nil
	default:
		return nil, fmt.Errorf("%w: at most %d at a time", errCrowded, cap(h.waits))
	}
}

func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 {
		return 0, fmt.Errorf("%w: wait=%q: want a duration such as 10m", registry.ErrBadValue, text)
	}
	return wait, nil
}

func (h handler) set(r *http.Request) (any, error) {
	return h.write(r, func(ctx context.Context, key, value string) error {
		return h.store.Set(ctx, key, value)
	})
}

func (h handler) delete(r *http.Request) (any, error) {
	return h.write(r, func(ctx context.Context, key, _ string) error {
		return h.store.Delete(ctx, key)
	})
}

func (h handler) join(r *http.Request) (any, error) {
	return h.write(r, func(ctx context.Context, key, member string) error {
		return h.store.Join(ctx, key, member)
	})
}

func (h handler) leave(r *http.Request) (any, error) {
	return h.write(r, func(ctx context.Context, key, member string) error {
		return h.store.Leave(ctx, key, member)
	})
}

func (h handler) fail(r *http.Request) (any, error) {
	return h.write(r, func(ctx context.Context, _, message string) error {
		return h.store.Fail(ctx, message)
	})
}

func (h handler) write(r *http.Request, with func(ctx context.Context, key, body string) error) (any, error) {
	body, err := io.ReadAll(r.Body)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, fmt.Errorf("%w: at most %d bytes", errTooLarge, tooLarge.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: body: %w", registry.ErrBadValue, err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	return empty{}, with(ctx, r.PathValue("key"), string(body))
}

// ready says whether the registry can be read.
func (h handler) ready(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), probeTimeout)
	defer cancel()
	_, err := h.store.List(ctx)
	return empty{}, err
}

// reply turns what an action returns into JSON.
func (h handler) reply(action func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		answer, err := action(r)
		if err != nil {
			h.refuse(w, r, err)
			return
		}
		h.metrics.answered(r, "ok")
		writeJSON(w, http.StatusOK, answer)
	}
}

func (h handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, body := describe(err)
	h.metrics.answered(r, body.Code)
	writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(toJSON(answer), '\n')) // the client has gone; nobody is left to tell
}

// toJSON keeps & < > as they are: values are URLs.
func toJSON(answer any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(answer) // every answer is a struct of strings
	return bytes.TrimRight(buffer.Bytes(), "\n")
}
