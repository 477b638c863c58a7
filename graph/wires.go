package graph

import "slices"

// drawWires turns the edges into lines.
func (l *layout) drawWires() {
	for i := range l.columns {
		l.drawReading(&l.columns[i])
	}
	for i := range l.columns {
		l.drawPublishing(&l.columns[i])
	}
	for _, edge := range l.g.Edges {
		switch edge.Kind {
		case SubmitsTo:
			l.drawSubmission(edge)
		case Watches:
			l.drawWatching(edge)
		}
	}
}

// columnOf is the column of a head or cluster.
func (l *layout) columnOf(id string) *column {
	for i := range l.columns {
		c := &l.columns[i]
		if c.frame != nil && (c.frame.ID == id || slices.ContainsFunc(c.frame.Nodes, func(node Node) bool { return node.ID == id })) {
			return c
		}
	}
	return &l.columns[0]
}

// drawPublishing lets each publisher of a column reach the line of its key in the left gutter, where all publishers of one key share a line.
func (l *layout) drawPublishing(c *column) {
	for _, edge := range l.g.Edges {
		at := slices.Index(c.keys, edge.To)
		if edge.Kind != Publishes || at < 0 || l.columnOf(edge.From) != c {
			continue
		}
		from, key := l.rects[edge.From], l.rects[edge.To]
		x, out, in := c.box-lane*(at+1), l.portOf(c, edge), key.y+key.h/2
		l.d.wires = append(l.d.wires, wire{
			kind: Publishes, edges: []Edge{edge}, arrow: true,
			points: []point{{from.x, out}, {x, out}, {x, in}, {key.right(), in}}, dots: []point{{x, in}},
		})
	}
}

// portOf spreads the lines that leave a box over its left side; the highest place is that of the line that comes in.
func (l *layout) portOf(c *column, edge Edge) int {
	var mine []string
	for _, key := range c.keys {
		if slices.Contains(l.g.Edges, Edge{edge.From, key, Publishes}) {
			mine = append(mine, key)
		}
	}
	from := l.rects[edge.From]
	return from.y + from.h*(slices.Index(mine, edge.To)+2)/(len(mine)+2)
}

// drawReading is a line for each reader of a column, from all keys that it reads.
func (l *layout) drawReading(c *column) {
	for i, reader := range c.reads {
		reads := wire{kind: ReadBy, arrow: true}
		to := l.rects[reader]
		x, in, deepest := c.box-lane*(len(c.keys)+1+i), to.y+to.h/6, 0
		for _, edge := range l.g.Edges {
			if edge.Kind != ReadBy || edge.To != reader {
				continue
			}
			key := l.rects[edge.From]
			y := key.y + key.h/2
			deepest = max(deepest, y)
			reads.edges, reads.dots = append(reads.edges, edge), append(reads.dots, point{x, y})
			l.d.wires = append(l.d.wires, wire{kind: ReadBy, edges: []Edge{edge}, points: []point{{key.right(), y}, {x, y}}})
		}
		reads.points = []point{{x, deepest}, {x, in}, {to.x, in}}
		l.d.wires = append(l.d.wires, reads)
	}
}

// drawSubmission leads the driver's line over the clusters to its head.
func (l *layout) drawSubmission(edge Edge) {
	driver, head := l.rects[edge.From], l.rects[edge.To]
	first, c := l.columns[0], l.columnOf(edge.To)
	top := l.rects["watch"].bottom() + gap
	out, in := driver.y+driver.h/2, head.y+head.h*2/3
	l.d.wires = append(l.d.wires, wire{kind: SubmitsTo, edges: []Edge{edge}, arrow: true, points: []point{
		{driver.right(), out}, {first.drive, out}, {first.drive, top}, {c.drive, top}, {c.drive, in}, {head.right(), in},
	}})
}

// drawWatching leads from the watch over the clusters into the right gutter of each, and to the driver in the left one of its own column.
func (l *layout) drawWatching(edge Edge) {
	watch, to := l.rects[edge.From], l.rects[edge.To]
	y := watch.y + watch.h/2
	w := wire{kind: Watches, edges: []Edge{edge}, arrow: true}
	c := l.columnOf(edge.To)
	switch {
	case edge.To == "driver":
		x, in := watch.x-lane, to.y+to.h/2
		w.points = []point{{watch.x, y}, {x, y}, {x, in}, {to.x, in}}
	case c.frame.ID == edge.To:
		w.points = []point{{watch.right(), y}, {c.watchX, y}, {c.watchX, to.y}}
	default:
		in := to.y + to.h/3
		w.points = []point{{watch.right(), y}, {c.watchX, y}, {c.watchX, in}, {to.right(), in}}
	}
	l.d.wires = append(l.d.wires, w)
}
