package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// report is all that was measured.
type report struct {
	Date       string    `json:"date"`
	CPUs       int       `json:"cpus"`    // of the API server, etcd and all writers together
	Largest    int       `json:"largest"` // the most writers at once
	Contests   []contest `json:"contests"`
	OneWriteMs float64   `json:"oneWriteMs"` // median of one API write by a client alone
	Notices    []notice  `json:"notices"`
	Sidecar    idle      `json:"sidecar"`
}

// goal is a figure and what it should be at most.
type goal struct {
	name       string
	have, most float64
	unit       string
}

func (g goal) String() string {
	verdict := "met"
	if g.have > g.most {
		verdict = "NOT met"
	}
	return fmt.Sprintf("%-8s %s: %.2f%s, at most %.2f%s", verdict, g.name, g.have, g.unit, g.most, g.unit)
}

func (r *report) goals() []goal {
	writers, joiners := r.of(library, r.Largest), r.of(libraryJoin, r.Largest)
	first, last := r.watched(1), r.watched(1000)
	return []goal{
		{fmt.Sprintf("%d writers, wall against floor", writers.Writers), writers.Ratio, 1.5, ""},
		{fmt.Sprintf("%d joiners, wall against floor", joiners.Writers), joiners.Ratio, 1.5, ""},
		{"notify p50 against one API write", first.P50Ms / r.OneWriteMs, 3, ""},
		{fmt.Sprintf("notify p99 with %d waiters", last.Waiters), last.P99Ms, 1000, " ms"},
		{"requests of an idle sidecar", float64(r.Sidecar.Requests), 0, ""},
		{"resident memory of an idle sidecar", r.Sidecar.RSSMiB, 14, " MiB"},
		{"binary of the sidecar", r.Sidecar.BinaryMiB, 16, " MiB"},
	}
}

func (r *report) of(a algorithm, n int) contest {
	i := slices.IndexFunc(r.Contests, func(c contest) bool { return c.Algorithm == a.name && c.Writers == n })
	if i < 0 {
		return contest{}
	}
	return r.Contests[i]
}

func (r *report) watched(n int) notice {
	i := slices.IndexFunc(r.Notices, func(x notice) bool { return x.How == watching.name && x.Waiters == n })
	if i < 0 {
		return notice{}
	}
	return r.Notices[i]
}

// lost is an error if the library lost a write, or did not land one within the time of a contest.
func (r *report) lost() error {
	for _, c := range r.Contests {
		if mayNotLose(c.Algorithm) && c.Landed < c.Writers {
			return fmt.Errorf("%s: %d of %d writers landed, %d acknowledged writes are lost", c.Algorithm, c.Landed, c.Writers, c.Lost)
		}
	}
	return nil
}

func mayNotLose(name string) bool { return name == library.name || name == libraryJoin.name }

// print prints the table, the goals and the line that sums it up.
func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "WHAT\tAT ONCE\tSHARDS\tLANDED\tFAILED\tLOST\tWALL\tFLOOR\tWALL/FLOOR\t409\t429\tREQUESTS\tP50\tP99\t")
	for _, c := range r.Contests {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%.2f\t%d\t%d\t%d\t%s\t%s\t\n", c.Algorithm, c.Writers, c.Shards,
			c.Landed, c.Failed, c.Lost, ms(c.WallMs), ms(c.FloorMs), c.Ratio, c.Refused, c.Busy, c.Requests, ms(c.P50Ms), ms(c.P99Ms))
	}
	for _, n := range r.Notices {
		fmt.Fprintf(w, "told by %s\t%d\t\t\t\t\t\t%s\t\t\t\t\t%s\t%s\t\n", n.How, n.Waiters, ms(r.OneWriteMs), ms(n.P50Ms), ms(n.P99Ms))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nWall against the floor: the same number of writes one after the other on one ConfigMap, right before.")
	fmt.Fprintln(out, "Of waiters, the floor is one API write, and P50 and P99 run from the start of the write that they wait for.")
	fmt.Fprintln(out)
	for _, g := range r.goals() {
		fmt.Fprintln(out, g)
	}
	fmt.Fprintln(out)
	_, err := fmt.Fprintln(out, r.summary())
	return err
}

func (r *report) summary() string {
	writers, joiners := r.of(library, r.Largest), r.of(libraryJoin, r.Largest)
	return fmt.Sprintf("registry: %d writers landed=%d wall/floor=%.2f; %d joiners landed=%d wall/floor=%.2f; notify p50=%s; rss=%.1f MiB",
		writers.Writers, writers.Landed, writers.Ratio, joiners.Writers, joiners.Landed, joiners.Ratio,
		ms(r.watched(1).P50Ms), r.Sidecar.RSSMiB)
}

func ms(ms float64) string {
	if ms < 100 {
		return fmt.Sprintf("%.1fms", ms)
	}
	return fmt.Sprintf("%.0fms", ms)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
