package main

import (
	"net/http"

	"github.com/tandem-rl/tandem/internal/sidecar"
	"github.com/tandem-rl/tandem/registry"
)

// families are all that there are, in the order in which they are written.
var families = []sidecar.Family{
	{Name: "tandem_registry_http_requests_total", Kind: "counter", Help: "Requests of the pod, by method and by the code of the answer."},
	{Name: "tandem_registry_waits", Kind: "gauge", Help: "Requests that wait now."},
	{Name: "tandem_registry_writes_total", Kind: "counter", Help: "Writes to the registry, by verb and result."},
	{Name: "tandem_registry_write_conflicts_total", Kind: "counter", Help: "Tries of writes that another writer was faster than."},
	{Name: "tandem_registry_write_retries_total", Kind: "counter", Help: "Tries of writes that failed otherwise."},
	{Name: "tandem_registry_write_seconds_total", Kind: "counter", Help: "Time that writes took."},
	{Name: "tandem_registry_published", Kind: "gauge", Help: "Endpoints of this pod that are published now."},
}

// metrics count what the sidecar is asked and does.
type metrics struct{ *sidecar.Metrics }

func newMetrics() *metrics { return &metrics{sidecar.NewMetrics(families...)} }

func (m *metrics) answered(r *http.Request, code string) {
	m.Add("tandem_registry_http_requests_total", 1, "method", r.Method, "code", code)
}

func (m *metrics) wrote(w registry.Write) {
	result := "ok"
	if w.Err != nil {
		_, result = classify(w.Err)
	}
	m.Add("tandem_registry_writes_total", 1, "verb", w.Verb, "result", result)
	m.Add("tandem_registry_write_conflicts_total", float64(w.Conflicts))
	m.Add("tandem_registry_write_retries_total", float64(w.Retries))
	m.Add("tandem_registry_write_seconds_total", w.Took.Seconds())
}
