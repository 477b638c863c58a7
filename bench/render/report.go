package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// Goals for 10,000 pods in 100 groups, and the noise that proportions are allowed.
const (
	maxMilliseconds = 1000
	maxPeakMiB      = 150
	// byGroups: four times the groups may cost so much more than four times the time of a quarter.
	byGroups = 1.5
	// byPods: a thousand times the pods may cost so much more than the same groups of one pod.
	byPods = 1.5
)

type report struct {
	Date   string   `json:"date"`
	CPUs   int      `json:"cpus"`
	Rounds int      `json:"rounds"`
	Cases  []result `json:"cases"`
	// ByGroups is the time of 200 groups over four times that of 50; ByPods that of 1000 pods a group over that of one.
	ByGroups float64 `json:"byGroups"`
	ByPods   float64 `json:"byPods"`
}

func (r *report) of(s size) result {
	for _, c := range r.Cases {
		if c.size == s {
			return c
		}
	}
	return result{}
}

// judge fills the proportions and returns the goals that were missed.
func (r *report) judge() []error {
	r.ByGroups = r.of(size{200, 100}).Milliseconds / (4 * r.of(size{50, 100}).Milliseconds)
	r.ByPods = r.of(size{100, 1000}).Milliseconds / r.of(size{100, 1}).Milliseconds
	var missed []error
	within := func(what string, value, most float64, unit string) {
		if value > most || value <= 0 {
			missed = append(missed, fmt.Errorf("%s: %.2f%s, the goal is at most %.2f%s", what, value, unit, most, unit))
		}
	}
	within("time of 10,000 pods", r.of(goal).Milliseconds, maxMilliseconds, " ms")
	within("memory of 10,000 pods", r.of(goal).PeakMiB, maxPeakMiB, " MiB")
	within("growth with the groups, beyond proportion", r.ByGroups, byGroups, "")
	within("growth with the pods", r.ByPods, byPods, "")
	return missed
}

func (r *report) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	var errs []error
	line := func(format string, args ...any) {
		_, err := fmt.Fprintf(table, format, args...)
		errs = append(errs, err)
	}
	line("GROUPS\tPODS A GROUP\tPODS\tTIME\tPEAK MEMORY\tYAML\n")
	for _, c := range r.Cases {
		line("%d\t%d\t%d\t%.0f ms\t%.0f MiB\t%d KiB\n", c.Groups, c.Pods, c.Groups*c.Pods, c.Milliseconds, c.PeakMiB, c.Bytes>>10)
	}
	errs = append(errs, table.Flush())
	_, err := fmt.Fprintf(w, "render: 10000 pods in 100 groups=%.0fms peak=%.0f MiB; groups x4=%.2f of proportion; pods x1000=%.2f\n",
		r.of(goal).Milliseconds, r.of(goal).PeakMiB, r.ByGroups, r.ByPods)
	return errors.Join(append(errs, err)...)
}
