package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/tandem-rl/tandem/registry"
)

// metrics are counters and gauges in Prometheus' text format. Its Go library would add 4.5 MiB to the binary and 3 MiB
// to the memory of every pod. Label values come from closed sets.
type metrics struct {
	mu     sync.Mutex
	values map[string]map[string]float64 // family to labels to value
}

// families are all that there are, in the order in which they are written.
var families = []struct{ name, kind, help string }{
	{"tandem_registry_http_requests_total", "counter", "Requests of the pod, by method and by the code of the answer."},
	{"tandem_registry_waits", "gauge", "Requests that wait now."},
	{"tandem_registry_writes_total", "counter", "Writes to the registry, by verb and result."},
	{"tandem_registry_write_conflicts_total", "counter", "Tries of writes that another writer was faster than."},
	{"tandem_registry_write_retries_total", "counter", "Tries of writes that failed otherwise."},
	{"tandem_registry_write_seconds_total", "counter", "Time that writes took."},
	{"tandem_registry_published", "gauge", "Endpoints of this pod that are published now."},
}

func newMetrics() *metrics { return &metrics{values: map[string]map[string]float64{}} }

// add changes a series. labels are names and values in turn.
func (m *metrics) add(family string, by float64, labels ...string) {
	text := ""
	for i := 0; i+1 < len(labels); i += 2 {
		text += fmt.Sprintf(",%s=%q", labels[i], labels[i+1])
	}
	if text != "" {
		text = "{" + text[1:] + "}"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[family] == nil {
		m.values[family] = map[string]float64{}
	}
	m.values[family][text] += by
}

func (m *metrics) answered(r *http.Request, code string) {
	m.add("tandem_registry_http_requests_total", 1, "method", r.Method, "code", code)
}

func (m *metrics) wrote(w registry.Write) {
	result := "ok"
	if w.Err != nil {
		_, result = classify(w.Err)
	}
	m.add("tandem_registry_writes_total", 1, "verb", w.Verb, "result", result)
	m.add("tandem_registry_write_conflicts_total", float64(w.Conflicts))
	m.add("tandem_registry_write_retries_total", float64(w.Retries))
	m.add("tandem_registry_write_seconds_total", w.Took.Seconds())
}

func (m *metrics) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.print(w)
}

func (m *metrics) print(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, family := range families {
		series := m.values[family.name]
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", family.name, family.help, family.name, family.kind)
		for _, labels := range slices.Sorted(maps.Keys(series)) {
			fmt.Fprintf(w, "%s%s %v\n", family.name, labels, series[labels])
		}
	}
}
