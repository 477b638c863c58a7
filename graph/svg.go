package graph

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// WriteSVG writes a picture that stands for itself.
func WriteSVG(w io.Writer, g Graph) error {
	s := svg{}
	s.drawing(layOut(g))
	_, err := io.WriteString(w, s.String())
	return err
}

type svg struct{ strings.Builder }

func (s *svg) line(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

func (s *svg) drawing(d drawing) {
	s.line(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %d %d">`, d.width, d.height, d.width, d.height)
	s.line(`<title>%s</title>`, escape(d.title))
	s.styles()
	s.line(`<rect class="paper" width="%d" height="%d"/>`, d.width, d.height)
	for _, frame := range d.frames {
		s.box(frame, 12)
	}
	for _, w := range d.wires {
		s.wire(w)
	}
	for _, b := range d.boxes {
		s.box(b, 7)
	}
	for _, t := range d.texts {
		s.text(t)
	}
	for _, item := range d.legend {
		s.wire(wire{kind: item.style.kind, points: []point{item.from, {item.from.x + 34, item.from.y}}, arrow: true})
		s.text(item.text)
	}
	s.line(`</svg>`)
}

// styles are rules and arrow heads; nothing is loaded.
func (s *svg) styles() {
	s.line(`<style>`)
	s.line(`text { font-family: "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif; fill: %s }`, ink)
	s.line(`.paper { fill: #ffffff }`)
	s.line(`.wire { fill: none; stroke-width: 1.5 }`)
	for _, st := range styles {
		s.line(`.%s { fill: %s; stroke: %s; stroke-width: 1.3%s }`, st.class, st.fill, st.stroke, dashes(st.dash))
	}
	for _, st := range edgeStyles {
		s.line(`.%s { stroke: %s%s } .%s-end { fill: %s }`, st.class, st.colour, dashes(st.dash), st.class, st.colour)
	}
	s.line(`</style>`)
	s.line(`<defs>`)
	for _, st := range edgeStyles {
		s.line(`<marker id="%s" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">`+
			`<path class="%s-end" d="M0 0.5 L8 4 L0 7.5 Z"/></marker>`, st.class, st.class)
	}
	s.line(`</defs>`)
}

func dashes(pattern string) string {
	if pattern == "" {
		return ""
	}
	return "; stroke-dasharray: " + pattern
}

func (s *svg) box(b box, radius int) {
	s.line(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, b.class, b.rect.x, b.rect.y, b.rect.w, b.rect.h, radius)
	for _, t := range b.texts {
		s.text(t)
	}
}

func (s *svg) text(t text) {
	weight := ""
	if t.bold {
		weight = ` font-weight="bold"`
	}
	s.line(`<text x="%d" y="%d" font-size="%d"%s>%s</text>`, t.at.x, t.at.y, t.size, weight, escape(t.words))
}

func (s *svg) wire(w wire) {
	class, marker := styleOfEdge(w.kind).class, ""
	if w.arrow {
		marker = fmt.Sprintf(` marker-end="url(#%s)"`, class)
	}
	s.line(`<path class="wire %s" d="%s"%s/>`, class, path(w.points), marker)
	for _, dot := range w.dots {
		s.line(`<circle class="%s-end" cx="%d" cy="%d" r="3"/>`, class, dot.x, dot.y)
	}
}

// path goes along the points and rounds the corners.
func path(points []point) string {
	out := fmt.Sprintf("M%d %d", points[0].x, points[0].y)
	for i := 1; i < len(points)-1; i++ {
		corner := points[i]
		before, after := towards(corner, points[i-1]), towards(corner, points[i+1])
		out += fmt.Sprintf(" L%d %d Q%d %d %d %d", before.x, before.y, corner.x, corner.y, after.x, after.y)
	}
	end := points[len(points)-1]
	return out + fmt.Sprintf(" L%d %d", end.x, end.y)
}

// towards is a place near a corner on the way to another; ways go along the axes.
func towards(corner, other point) point {
	const radius = 5
	step := func(from, to int) int { return from + max(-radius, min(radius, (to-from)/2)) }
	return point{step(corner.x, other.x), step(corner.y, other.y)}
}

// escape makes a text safe in XML. Characters that XML cannot hold become U+FFFD.
func escape(text string) string {
	var out strings.Builder
	// A strings.Builder takes every write.
	_ = xml.EscapeText(&out, []byte(text))
	return out.String()
}
