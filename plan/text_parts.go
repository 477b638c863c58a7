package plan

import (
	"fmt"
	"strings"
)

// row is a line about a part of a gang, with those below it.
type row struct {
	name, text string
	below      []row
}

// rowsOf are the parts below a parent. A part with a single part below it, as each replicatedJob has under KAI, is one line with it.
func rowsOf(parts []Part, parent string) []row {
	var out []row
	for _, part := range parts {
		if part.Parent != parent || part.Name == parent {
			continue
		}
		r := row{name: part.Name, below: rowsOf(parts, part.Name)}
		switch {
		case len(r.below) == 0:
			r.text = fmt.Sprintf("%d of %s", part.Min, pods(part.Pods))
		case len(r.below) == 1 && len(r.below[0].below) == 0 && part.Min == 1:
			r.text, r.below = r.below[0].text, nil
		default:
			r.text = fmt.Sprintf("%d of its %d parts", part.Min, len(r.below))
		}
		if part.Topology != "" {
			r.text += ", " + part.Topology
		}
		out = append(out, r)
	}
	return out
}

// parts writes rows; three and more of a kind are one line.
func (w *writer) parts(rows []row, indent string) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].alike(rows[0]) {
			n++
		}
		if n < 3 {
			n = 1
			w.line("%s%s: %s", indent, rows[0].name, rows[0].text)
		} else {
			w.line("%s%s to %s, each: %s", indent, rows[0].name, rows[n-1].name, rows[0].text)
		}
		w.parts(rows[0].below, indent+"  ")
		rows = rows[n:]
	}
}

// alike tells whether two rows differ in the number at the end of their names only.
func (r row) alike(other row) bool {
	stem := func(name string) string { return strings.TrimRight(name, "0123456789") }
	return r.text == other.text && len(r.below)+len(other.below) == 0 && stem(r.name) == stem(other.name)
}

func pods(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
