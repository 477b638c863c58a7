// Package sidecar holds what the sidecars' HTTP listeners have in common: metrics in Prometheus' text format, and an
// address that only the pod can reach.
//
// It does not know what is measured, and holds no history.
package sidecar

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// Family is one metric. Its label values come from a closed set: never names of pods or jobs.
type Family struct{ Name, Kind, Help string }

// Metrics are counters and gauges. Prometheus' Go library would add 4.5 MiB to the binary and 3 MiB to the memory of
// every pod. It is safe for concurrent use.
type Metrics struct {
	families []Family
	mu       sync.Mutex
	values   map[string]map[string]float64 // family to labels to value
}

// NewMetrics makes metrics of the given families, which are written in this order.
func NewMetrics(families ...Family) *Metrics {
	return &Metrics{families: families, values: map[string]map[string]float64{}}
}

// Add changes a series. labels are names and values in turn.
func (m *Metrics) Add(family string, by float64, labels ...string) {
	m.change(family, labels, func(old float64) float64 { return old + by })
}

// Set gives a series a value.
func (m *Metrics) Set(family string, value float64, labels ...string) {
	m.change(family, labels, func(float64) float64 { return value })
}

func (m *Metrics) change(family string, labels []string, with func(float64) float64) {
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
	m.values[family][text] = with(m.values[family][text])
}

// ServeHTTP writes all series.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.Print(w)
}

// Print writes all series, sorted.
func (m *Metrics) Print(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, family := range m.families {
		series := m.values[family.Name]
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", family.Name, family.Help, family.Name, family.Kind)
		for _, labels := range slices.Sorted(maps.Keys(series)) {
			fmt.Fprintf(w, "%s%s %v\n", family.Name, labels, series[labels])
		}
	}
}
