// Package step prints what a long operation is doing, one line a step with the time it took.
//
//   - Starting etcd ... ok (0.8s)
//
// Lines go to the writer it was made with (stderr for a command), so that stdout stays data.
package step

import (
	"fmt"
	"io"
	"time"
)

// Printer prints steps. The zero value is not usable; see [New].
type Printer struct {
	out io.Writer
	now func() time.Time
}

// New returns a Printer that writes to out.
func New(out io.Writer) *Printer { return &Printer{out: out, now: time.Now} }

// Do runs fn as a step and prints its outcome. The error is returned as it is, with the step's name before it.
func (p *Printer) Do(name string, fn func() error) error {
	start := p.now()
	fmt.Fprintf(p.out, "• %s ...", name)
	err := fn()
	took := p.now().Sub(start).Seconds()
	if err != nil {
		fmt.Fprintf(p.out, " failed (%.1fs)\n", took)
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(p.out, " ok (%.1fs)\n", took)
	return nil
}

// Note prints a line that belongs to no step.
func (p *Printer) Note(format string, args ...any) { fmt.Fprintf(p.out, "  "+format+"\n", args...) }
