package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

// maxBody is what a request may carry: as much as a ConfigMap may hold. requestPatience bounds a request that does not
// wait.
const (
	maxBody         = 1 << 20
	requestPatience = 30 * time.Second
)

// handler is the HTTP form of a store.
type handler struct{ store *registry.Store }

func newHandler(store *registry.Store) http.Handler {
	h := handler{store}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/endpoints", h.reply(h.list))
	mux.HandleFunc("GET /v1/endpoints/{key}", h.reply(h.get))
	mux.HandleFunc("PUT /v1/endpoints/{key}", h.reply(h.set))
	mux.HandleFunc("POST /v1/endpoints/{key}/members", h.reply(h.join))
	mux.HandleFunc("POST /v1/fail", h.reply(h.fail))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.reply(h.ready))
	return mux
}

// keyValue is the answer about one key.
type keyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type empty struct{}

var errTimedOut = errors.New("timed out")

func (h handler) list(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), requestPatience)
	defer cancel()
	endpoints, err := h.store.List(ctx)
	return map[string]any{"endpoints": endpoints}, err
}

func (h handler) get(r *http.Request) (any, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), max(wait, requestPatience))
	defer cancel()
	key := r.PathValue("key")
	value, err := read(ctx, h.store, key, wait)
	if wait > 0 && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w after %s: %w", errTimedOut, wait, err)
	}
	return keyValue{key, value}, err
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

func (h handler) join(r *http.Request) (any, error) {
	return h.write(r, func(ctx context.Context, key, member string) error {
		return h.store.Join(ctx, key, member)
	})
}

func (h handler) fail(r *http.Request) (any, error) {
	return h.write(r, func(ctx context.Context, _, message string) error {
		return h.store.Fail(ctx, message)
	})
}

func (h handler) write(r *http.Request, with func(ctx context.Context, key, body string) error) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: body: %w", registry.ErrBadValue, err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestPatience)
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
		status := http.StatusOK
		if err != nil {
			var code string
			status, code = classify(err)
			answer = map[string]string{"code": code, "message": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(answer) // the client has gone; nobody is left to tell
	}
}

// classify maps an error to the status and code of the answer.
func classify(err error) (status int, code string) {
	switch {
	case errors.Is(err, registry.ErrFailed):
		return http.StatusFailedDependency, "failed"
	case errors.Is(err, registry.ErrBadKey), errors.Is(err, registry.ErrBadValue), errors.Is(err, registry.ErrFull):
		return http.StatusBadRequest, "bad_request"
	case errors.Is(err, registry.ErrForbidden):
		return http.StatusForbidden, "forbidden"
	case errors.Is(err, errTimedOut):
		return http.StatusGatewayTimeout, "timeout"
	case errors.Is(err, context.Canceled): // the sidecar is ending; whatever was seen last
		return http.StatusServiceUnavailable, "unavailable"
	case errors.Is(err, registry.ErrNotFound):
		return http.StatusNotFound, "not_found"
	default:
		return http.StatusServiceUnavailable, "unavailable"
	}
}
