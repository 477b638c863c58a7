package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandem-rl/tandem/test/podclient"
)

// request is one that the API server has answered, as its audit log says. A watch is written down when it begins, and
// again when it ends.
type request struct {
	AuditID string `json:"auditID"`
	Stage   string `json:"stage"`
	Verb    string `json:"verb"`
	User    struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Namespace string `json:"namespace"`
		Resource  string `json:"resource"`
		Name      string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
	Answered time.Time `json:"stageTimestamp"`
}

// deletes tells whether the server accepted to delete a part of a run.
func (r request) deletes() bool {
	return r.Verb == "delete" && r.Response.Code/100 == 2 && (r.Object.Resource == "rayclusters" || r.Object.Resource == "jobs")
}

// audit is what the API server has written down of every run, by the run's namespace.
type audit struct {
	mu      sync.Mutex
	all     map[string][]request
	deleted map[string][]request // those of all that delete
	err     error
}

// follow reads the log until ctx ends.
func (a *audit) follow(ctx context.Context, file string) error {
	log, err := os.Open(file)
	if err != nil {
		return err
	}
	a.all, a.deleted = map[string][]request{}, map[string][]request{}
	go func() {
		defer log.Close()
		a.fail(a.read(ctx, bufio.NewReaderSize(log, 1<<20)))
	}()
	return nil
}

func (a *audit) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

func (a *audit) read(ctx context.Context, log *bufio.Reader) error {
	var line strings.Builder
	var failed error
	ended := podclient.Until(ctx, func() bool {
		for {
			part, err := log.ReadString('\n')
			line.WriteString(part)
			if errors.Is(err, io.EOF) {
				return false // the rest of the line is still to be written
			}
			if failed = errors.Join(err, a.note(line.String())); failed != nil {
				return true
			}
			line.Reset()
		}
	})
	return errors.Join(ended, failed)
}

func (a *audit) note(line string) error {
	var r request
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return fmt.Errorf("audit log: %q: %w", line, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	run := r.Object.Namespace
	a.all[run] = append(a.all[run], r)
	if r.deletes() {
		a.deleted[run] = append(a.deleted[run], r)
	}
	return nil
}

// of are the requests of one run so far.
func (a *audit) of(run string) []request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.all[run])
}

// deletions are those of one run that the server accepted.
func (a *audit) deletions(run string) ([]request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.deleted[run]), a.err
}

// lastDelete is when the last part of those was accepted that are named, and whether all were.
func lastDelete(deletions []request, names []string) (last time.Time, all bool) {
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = true
	}
	for _, d := range deletions {
		if missing[d.Object.Name] {
			delete(missing, d.Object.Name)
			last = latest(last, d.Answered)
		}
	}
	return last, len(missing) == 0
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// between counts the requests that arrived in a span of time, and the watches among them.
func between(requests []request, from, to time.Time) (others, watches int) {
	seen := map[string]bool{}
	for _, r := range requests {
		if seen[r.AuditID] || r.Received.Before(from) || r.Received.After(to) {
			continue
		}
		seen[r.AuditID] = true
		if r.Verb == "watch" {
			watches++
		} else {
			others++
		}
	}
	return others, watches
}
