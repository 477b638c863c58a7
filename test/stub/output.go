package main

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// output is what a job printed: written by the child, read by any number of followers.
type output struct {
	mu      sync.Mutex
	data    []byte
	closed  bool
	changed chan struct{} // closed, and replaced, when data or closed changes
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.data = append(o.data, p...)
	o.wake()
	return len(p), nil
}

func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake()
}

// wake needs o.mu.
func (o *output) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// from returns what follows offset, whether the job has ended, and what to wait on for more.
func (o *output) from(offset int) (more []byte, ended bool, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.data[offset:len(o.data):len(o.data)], o.closed, o.changed
}

// follow hands everything to write until the job has ended, or ctx, or write fails.
func (o *output) follow(ctx context.Context, write func([]byte) error) {
	for offset := 0; ; {
		more, ended, changed := o.from(offset)
		if len(more) > 0 {
			if write(more) != nil {
				return
			}
			offset += len(more)
			continue
		}
		if ended {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// tail is the last n lines.
func (o *output) tail(n int) string {
	all, _, _ := o.from(0)
	lines := slices.Collect(strings.Lines(string(all)))
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
