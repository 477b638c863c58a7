package graph

import (
	"fmt"
	"io"
	"strings"
)

// WriteDOT writes a graph for Graphviz: `tandem graph -f run.yaml -o dot | dot -Tpdf`.
func WriteDOT(w io.Writer, g Graph) error {
	d := dot{anchors: map[string]string{}}
	d.line(0, "digraph run {")
	d.line(1, "compound=true rankdir=TB fontname=Helvetica label=%s labelloc=t", dotText(g.Title, g.About))
	d.line(1, "node [shape=box style=\"rounded,filled\" fontname=Helvetica fontsize=11]")
	d.line(1, "edge [fontname=Helvetica fontsize=9]")
	for _, node := range g.Nodes {
		d.node(1, node)
	}
	for _, frame := range g.Frames {
		d.frame(1, frame)
	}
	for _, edge := range g.Edges {
		d.edge(edge)
	}
	d.line(0, "}")
	_, err := io.WriteString(w, d.String())
	return err
}

type dot struct {
	strings.Builder
	anchors map[string]string // the first node of each frame: Graphviz draws edges between nodes only, and cuts them at frames
}

func (d *dot) line(depth int, format string, args ...any) {
	fmt.Fprintf(d, strings.Repeat("  ", depth)+format+"\n", args...)
}

func (d *dot) node(depth int, node Node) {
	s := styleOf(string(node.Kind))
	d.line(depth, "%s [label=%s fillcolor=%q color=%q]", node.ID, dotText(node.Name, node.Lines), s.fill, s.stroke)
}

func (d *dot) frame(depth int, frame Frame) {
	s := styleOf(string(frame.Kind))
	d.line(depth, "subgraph cluster_%s {", frame.ID)
	look := fmt.Sprintf("color=%q fillcolor=%q style=\"rounded,filled\"", s.stroke, s.fill)
	if s.fill == "none" {
		look = fmt.Sprintf("color=%q style=\"rounded,dashed\"", s.stroke)
	}
	d.line(depth+1, "label=%s %s fontsize=11", dotText(frame.Name, frame.Lines), look)
	for _, node := range frame.Nodes {
		d.node(depth+1, node)
	}
	for _, inner := range frame.Frames {
		d.frame(depth+1, inner)
	}
	if len(frame.Nodes) > 0 {
		d.anchors[frame.ID] = frame.Nodes[0].ID
	}
	d.line(depth, "}")
}

func (d *dot) edge(edge Edge) {
	s := styleOfEdge(edge.Kind)
	look := fmt.Sprintf("label=%q color=%q fontcolor=%q", edge.Kind, s.colour, s.colour)
	if s.dash != "" {
		look += " style=dashed"
	}
	to := edge.To
	if anchor, isFrame := d.anchors[to]; isFrame {
		to, look = anchor, look+" lhead=cluster_"+edge.To
	}
	d.line(1, "%s -> %s [%s]", edge.From, to, look)
}

var dotEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ")

// dotText is a quoted label of centred lines.
func dotText(name string, lines []string) string {
	text := dotEscape.Replace(name)
	for _, line := range lines {
		text += `\n` + dotEscape.Replace(line)
	}
	return `"` + text + `"`
}
