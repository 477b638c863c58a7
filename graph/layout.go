package graph

// The picture is laid out in columns: the watch and the driver in the first, a cluster in each of the others, and below all of them the
// registry, whose keys are in the first column and reach to the others by a horizontal line each. A column has a gutter on either side:
// texts and boxes stay between the gutters, lines run in them. So nothing meets but lines that cross.

// Distances in pixels.
const (
	margin    = 24
	lane      = 10 // between lines that run side by side
	pad       = 10 // between a box and its text, a frame and its content
	gap       = 12 // between boxes
	between   = 30 // between columns, for the borders of gangs
	leastBox  = 150
	widestBox = 270
)

// point is a place in the picture.
type point struct{ x, y int }

// rect is a part of the picture.
type rect struct{ x, y, w, h int }

func (r rect) right() int  { return r.x + r.w }
func (r rect) bottom() int { return r.y + r.h }

// text is one line of text; at is its left end on the base line.
type text struct {
	words string
	at    point
	size  int
	bold  bool
}

// box is a node or frame with its texts.
type box struct {
	id    string
	class string
	rect  rect
	texts []text
}

// wire is an edge as a line of right angles. A wire into a key's line ends in a dot, others in an arrow.
type wire struct {
	kind   EdgeKind
	points []point
	edges  []Edge // that it stands for
	dots   []point
	arrow  bool
}

// drawing is a picture that only needs to be written down.
type drawing struct {
	width, height int
	title         string
	texts         []text
	frames, boxes []box
	wires         []wire
	legend        []legendItem
}

// legendItem is a short line and what it means.
type legendItem struct {
	style edgeStyle
	from  point
	text  text
}

// column is a cluster, or the first column.
type column struct {
	frame  *Frame
	gang   *Frame // around this cluster alone
	left   int    // the frame's edge
	box    int    // where boxes begin
	right  int    // the frame's other edge
	keys   []string
	reads  []string // who reads, each by a line of its own
	watchX int
	drive  int // where the line of the driver goes down, 0 in other columns
}

// layout is what is known while a picture is laid out.
type layout struct {
	g       Graph
	d       drawing
	columns []column // the first column is that of the driver
	width   int      // of boxes
	rects   map[string]rect
	nodes   map[string]Node
	runGang *Frame
}

func layOut(g Graph) drawing {
	l := &layout{g: g, rects: map[string]rect{}, nodes: map[string]Node{}}
	l.sort()
	l.measure()
	l.spread()
	y := l.placeTitle()
	y = l.placeWatch(y)
	y = l.placeClusters(y)
	y = l.placeRegistry(y)
	l.drawWires()
	l.placeLegend(y)
	return l.d
}

// sort finds the parts of the graph that have places of their own.
func (l *layout) sort() {
	l.columns = []column{{}}
	for i := range l.g.Frames {
		frame := &l.g.Frames[i]
		switch {
		case frame.Kind == FrameCluster:
			l.columns = append(l.columns, column{frame: frame})
		case frame.Kind == FrameGang && (len(frame.Frames) > 1 || len(frame.Nodes) > 0 || frame.ID == runGangID):
			l.runGang = frame
			for j := range frame.Frames {
				l.columns = append(l.columns, column{frame: &frame.Frames[j]})
			}
		case frame.Kind == FrameGang:
			l.columns = append(l.columns, column{frame: &frame.Frames[0], gang: frame})
		}
	}
	l.g.eachNode(func(node Node) { l.nodes[node.ID] = node })
	for i := range l.columns {
		l.columns[i].keys, l.columns[i].reads = l.traffic(l.columns[i].frame)
	}
}

// traffic is which keys a cluster publishes, and which of its nodes read.
func (l *layout) traffic(frame *Frame) (keys, reads []string) {
	if frame == nil {
		return nil, nil
	}
	mine, seen := map[string]bool{}, map[string]bool{}
	for _, node := range frame.Nodes {
		mine[node.ID] = true
	}
	for _, edge := range l.g.Edges {
		if edge.Kind == Publishes && mine[edge.From] && !seen[edge.To] {
			keys, seen[edge.To] = append(keys, edge.To), true
		}
		if edge.Kind == ReadBy && mine[edge.To] && !seen[edge.To] {
			reads, seen[edge.To] = append(reads, edge.To), true
		}
	}
	return keys, reads
}

// measure finds the width of boxes: that of the widest text, within bounds.
func (l *layout) measure() {
	l.width = leastBox
	widen := func(name string, lines []string) {
		l.width = max(l.width, widthOf(name, nameSize, true)+2*pad)
		for _, line := range lines {
			l.width = max(l.width, widthOf(line, lineSize, false)+2*pad)
		}
	}
	l.g.eachNode(func(node Node) { widen(node.Name, node.Lines) })
	for _, column := range l.columns[1:] {
		widen(column.frame.Name, column.frame.Lines)
	}
	l.width = min(l.width, widestBox)
}

// spread gives every column its place from left to right.
func (l *layout) spread() {
	x := margin
	if l.runGang != nil {
		x += pad
	}
	for i := range l.columns {
		c := &l.columns[i]
		if i > 0 {
			x += between
		}
		lines := len(c.keys) + len(c.reads)
		c.left = x
		c.box = x + pad + lane*lines
		if i == 0 {
			c.box = x + 2*lane
		}
		c.right = c.box + l.width + 3*lane
		c.watchX = c.box + l.width + 2*lane
		c.drive = c.box + l.width + lane
		x = c.right
	}
	l.d.width = x + margin
	if l.runGang != nil {
		l.d.width += pad
	}
}

// last is the last column.
func (l *layout) last() column { return l.columns[len(l.columns)-1] }
