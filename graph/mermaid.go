package graph

import (
	"fmt"
	"io"
	"strings"
)

// WriteMermaid writes a flowchart, as GitHub and GitLab show it in Markdown.
func WriteMermaid(w io.Writer, g Graph) error {
	m := mermaid{}
	m.line(0, "%%%% %s", g.Title) // a comment
	m.line(0, "flowchart TB")
	m.line(1, "title[%s]:::title", mermaidText(g.Title, g.About))
	for _, node := range g.Nodes {
		m.node(1, node)
	}
	for _, frame := range g.Frames {
		m.frame(1, frame)
	}
	for _, edge := range g.Edges {
		m.line(1, "%s %s %s", edge.From, mermaidArrow[edge.Kind], edge.To)
	}
	for _, style := range mermaidStyles {
		m.line(1, "%s", style)
	}
	_, err := io.WriteString(w, m.String())
	return err
}

type mermaid struct{ strings.Builder }

func (m *mermaid) line(depth int, format string, args ...any) {
	fmt.Fprintf(m, strings.Repeat("  ", depth)+format+"\n", args...)
}

func (m *mermaid) node(depth int, node Node) {
	left, right := "[", "]"
	switch node.Kind {
	case NodeKey:
		left, right = "([", "])"
	case NodeWatch:
		left, right = "{{", "}}"
	}
	m.line(depth, "%s%s%s%s:::%s", node.ID, left, mermaidText(node.Name, node.Lines), right, node.Kind)
}

func (m *mermaid) frame(depth int, frame Frame) {
	m.line(depth, "subgraph %s[%s]", frame.ID, mermaidText(frame.Name, frame.Lines))
	for _, node := range frame.Nodes {
		m.node(depth+1, node)
	}
	for _, inner := range frame.Frames {
		m.frame(depth+1, inner)
	}
	m.line(depth, "end")
	m.line(depth, "class %s %s", frame.ID, frame.Kind)
}

var mermaidArrow = map[EdgeKind]string{
	Publishes: "-->|publishes|",
	ReadBy:    "-->|read by|",
	Watches:   "-.->|watches|",
	SubmitsTo: "==>|submits to|",
}

// mermaidStyles have the colours of the SVG.
var mermaidStyles = func() []string {
	lines := []string{"classDef title fill:none,stroke:none,color:" + ink}
	for _, s := range styles {
		line := fmt.Sprintf("classDef %s fill:%s,stroke:%s,color:%s", s.class, s.fill, s.stroke, ink)
		if s.dash != "" {
			line += ",stroke-dasharray:" + s.dash
		}
		lines = append(lines, line)
	}
	return lines
}()

var mermaidEscape = strings.NewReplacer(
	`#`, "#35;", `&`, "#amp;", `"`, "#quot;", `<`, "#lt;", `>`, "#gt;", "`", "#96;", "|", "#124;", ";", "#59;", "\n", " ")

// mermaidText is a quoted label. Mermaid has its own entities, which begin with #.
func mermaidText(name string, lines []string) string {
	text := "<b>" + mermaidEscape.Replace(name) + "</b>"
	for _, line := range lines {
		text += "<br/>" + mermaidEscape.Replace(line)
	}
	return `"` + text + `"`
}
