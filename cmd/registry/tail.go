package main

import (
	"bytes"
	"sync"
)

// What a failure quotes of stderr.
const (
	tailBytes = 2 << 10
	tailLines = 10
)

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - 2*tailBytes; extra > 0 {
		t.end = append([]byte(nil), t.end[extra:]...)
	}
	return len(p), nil
}

// lines are the last lines, as many as fit, without the one that is cut.
func (t *tail) lines() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := bytes.TrimRight(t.end, "\r\n \t")
	if len(end) > tailBytes {
		end = end[len(end)-tailBytes:]
		if _, whole, found := bytes.Cut(end, []byte("\n")); found {
			end = whole
		}
	}
	lines := bytes.Split(end, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}
