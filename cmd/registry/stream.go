package main

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// heartbeat keeps whatever stands between from closing a watch that has no news.
const heartbeat = 15 * time.Second

// Names of the events of a watch. An error is the last one.
const (
	eventEndpoints = "endpoints"
	eventError     = "error"
)

// watch streams the endpoints of ?key=A&key=B (all, if none is named), at once and after every change, as server-sent
// events.
func (h handler) watch(w http.ResponseWriter, r *http.Request) {
	done, err := h.enter()
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	defer done()
	h.metrics.answered(r, "ok")
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := &stream{w: w, controller: http.NewResponseController(w)}
	s.send(": watching\n\n")
	stop := s.keepAlive(h.beat)
	defer stop()
	for list, err := range h.store.Watch(r.Context(), r.URL.Query()["key"]...) {
		if err != nil {
			_, body := describe(err)
			s.event(eventError, body)
			return
		}
		s.event(eventEndpoints, endpointList{list})
	}
}

// stream writes events. A client that has gone ends the request's context, so failures need no answer here.
type stream struct {
	mu         sync.Mutex
	w          http.ResponseWriter
	controller *http.ResponseController
}

func (s *stream) event(name string, data any) {
	s.send(fmt.Sprintf("event: %s\ndata: %s\n\n", name, toJSON(data)))
}

func (s *stream) send(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.w.Write([]byte(text))
	_ = s.controller.Flush()
}

// keepAlive returns when it has stopped, so that nothing is written after the request.
func (s *stream) keepAlive(every time.Duration) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				s.send(": still here\n\n")
			}
		}
	}()
	return func() { close(end); <-ended }
}
