package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// report is all that was measured.
type report struct {
	Date    string  `json:"date"`
	CPUs    int     `json:"cpus"` // of the API server, etcd and all watchers together
	Cells   []cell  `json:"cells"`
	Storms  []storm `json:"storms"`
	Polling polled  `json:"polling"`
	Sidecar sidecar `json:"sidecar"`
}

// goal is a figure and what it should be at most.
type goal struct {
	name       string
	have, most float64
	unit       string
}

func (g goal) met() bool { return g.have <= g.most }

func (g goal) String() string {
	verdict := "met"
	if !g.met() {
		verdict = "NOT met"
	}
	return fmt.Sprintf("%-8s %s: %.2f%s, at most %.2f%s", verdict, g.name, g.have, g.unit, g.most, g.unit)
}

func (r *report) goals() []goal {
	return []goal{
		{"hard failures, the worst p99", r.worst(false), 1000, " ms"},
		{"soft failures, the worst p99 after the grace", r.worst(true), 1000, " ms"},
		{"runs that failed and were not taken down", float64(r.missed()), 0, ""},
		{"runs that were taken down by mistake", float64(r.falsely()), 0, ""},
		{"requests of idle watchers but for watches", float64(r.Sidecar.Requests), 0, ""},
		{"resident memory of an idle watcher", r.Sidecar.RSSMiB, 14, " MiB"},
		{"binary of the watcher", r.Sidecar.BinaryMiB, 16, " MiB"},
	}
}

// worst is the largest p99 of all kinds and sizes.
func (r *report) worst(soft bool) float64 {
	worst := 0.0
	for _, c := range r.Cells {
		if c.Soft == soft {
			worst = max(worst, c.P99Ms)
		}
	}
	return worst
}

func (r *report) missed() int {
	n := 0
	for _, c := range r.Cells {
		n += c.Missed
	}
	return n
}

func (r *report) falsely() int {
	n := 0
	for _, c := range r.Cells {
		n += c.False
	}
	for _, s := range r.Storms {
		n += s.False
	}
	return n
}

// failed is an error if a goal was missed.
func (r *report) failed() error {
	var missed []error
	for _, g := range r.goals() {
		if !g.met() {
			missed = append(missed, errors.New(g.String()))
		}
	}
	return errors.Join(missed...)
}

// print prints the tables, the goals and the line that sums it up.
func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "KILL\tCLUSTERS\tTRIALS\tMISSED\tFALSE\tP50\tP99\tPOLLING: TRIALS\tMISSED\tP50\tP99\t")
	for _, c := range r.Cells {
		grace := ""
		if c.Soft {
			grace = "grace+"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s%s\t%s%s\t%s\n", c.Kill, c.Clusters, c.Trials, c.Missed, c.False,
			grace, ms(c.P50Ms), grace, ms(c.P99Ms), r.polledBeside(c))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nFrom before the kill is asked for until the API server has accepted the last deletion, by its audit log.\n"+
		"The grace is %s. The polling watcher knows one peer; it gets %s.\n\n", unreadyGrace, pollPatience)
	fmt.Fprintln(w, "STORM\tSECONDS\tREFUSED\tRUNS\tFALSE\tPOLLING: RUNS\tFALSE\tDECISIONS\t")
	for _, s := range r.Storms {
		fmt.Fprintf(w, "%d\t%.0f\t%d\t%d\t%d\t%d\t%d\t%d\t\n", s.Code, s.Seconds, s.Refused, s.Runs, s.False, s.Runs, s.Polling, s.Decided)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d of 100 requests are refused; nothing has failed.\n\n", refusedShare)
	for _, g := range r.goals() {
		fmt.Fprintln(out, g)
	}
	fmt.Fprintln(out)
	_, err := fmt.Fprintln(out, r.summary())
	return err
}

// polledBeside are the polling watcher's columns beside a cell.
func (r *report) polledBeside(c cell) string {
	i := slices.IndexFunc(r.Polling.Cells, func(p polledCell) bool { return p.Kill == c.Kill && c.Clusters == 2 })
	if i < 0 {
		return "\t\t\t\t"
	}
	p := r.Polling.Cells[i]
	if p.Missed == p.Trials {
		return fmt.Sprintf("%d\t%d\t-\t-\t", p.Trials, p.Missed)
	}
	return fmt.Sprintf("%d\t%d\t%.1fs\t%.1fs\t", p.Trials, p.Missed, p.P50S, p.P99S)
}

func (r *report) summary() string {
	return fmt.Sprintf("peerwatch: hard p99=%s soft p99=grace+%s false=%d rss=%.1f MiB; polling: p50=%.1fs missed=%d",
		ms(r.worst(false)), ms(r.worst(true)), r.falsely(), r.Sidecar.RSSMiB, r.Polling.P50S, r.Polling.Missed)
}

func ms(ms float64) string { return fmt.Sprintf("%.0fms", ms) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
