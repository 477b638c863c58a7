package graph

// placeTitle returns the first free line below it.
func (l *layout) placeTitle() int {
	l.d.title = l.g.Title
	l.d.width = max(l.d.width, 2*margin+min(widthOf(l.g.Title, titleSize, true), 3*widestBox))
	y := margin - titleSize/2
	width := l.d.width - 2*margin
	y = l.write(&l.d.texts, l.g.Title, margin, y, width, titleSize, true)
	for _, line := range l.g.About {
		y = l.write(&l.d.texts, line, margin, y, width, lineSize, false)
	}
	return y + 2*gap
}

// write adds the lines of a text below y and returns where they end.
func (l *layout) write(to *[]text, words string, x, y, width, size int, bold bool) int {
	for _, line := range wrap(words, width, size, bold) {
		y += lineHeight(size)
		*to = append(*to, text{line, point{x, y - size/4}, size, bold})
	}
	return y
}

// textBox is a box of the columns' width, as high as its texts need.
func (l *layout) textBox(node Node, x, y int) box {
	b := box{id: node.ID, class: string(node.Kind), rect: rect{x: x, y: y, w: l.width}}
	b.rect.h = l.writeBlock(&b.texts, node.Name, node.Lines, x+pad, y+pad/2) - y + pad/2 + 1
	return b
}

// writeBlock is a name and the lines below it, of a box's width.
func (l *layout) writeBlock(to *[]text, name string, lines []string, x, y int) int {
	y = l.write(to, name, x, y, l.width-2*pad, nameSize, true)
	for _, line := range lines {
		y = l.write(to, line, x, y, l.width-2*pad, lineSize, false)
	}
	return y
}

// add takes a box into the picture and returns where it ends.
func (l *layout) add(b box) int {
	l.d.boxes = append(l.d.boxes, b)
	l.rects[b.id] = b.rect
	return b.rect.bottom()
}

func (l *layout) addFrame(frame *Frame, r rect, texts []text) {
	l.d.frames = append(l.d.frames, box{id: frame.ID, class: string(frame.Kind), rect: r, texts: texts})
	l.rects[frame.ID] = r
}

// placeWatch leaves room below the watch for the driver's line.
func (l *layout) placeWatch(y int) int {
	bottom := y
	for _, node := range l.g.Nodes {
		if node.Kind == NodeWatch {
			bottom = l.add(l.textBox(node, l.columns[0].box, y))
		}
	}
	return bottom + 3*gap
}

// placeClusters puts the heads of all clusters and the driver on one line, the workers below them, and the frames around.
func (l *layout) placeClusters(y int) int {
	top, gangTexts := l.placeGangTexts(y)
	headTop, headers := l.placeHeaders(top)
	bottom := l.add(l.textBox(l.nodes["driver"], l.columns[0].box, headTop))
	workersTop := headTop
	for _, c := range l.columns[1:] {
		workersTop = max(workersTop, l.textBox(c.frame.Nodes[0], c.box, headTop).rect.bottom()+gap)
	}
	ends := make([]int, len(l.columns))
	for i, c := range l.columns[1:] {
		head := l.textBox(c.frame.Nodes[0], c.box, headTop)
		head.rect.h = workersTop - gap - headTop
		end := l.add(head)
		for _, node := range c.frame.Nodes[1:] {
			end = l.add(l.textBox(node, c.box, end+gap))
		}
		ends[i+1] = end + gap
		bottom = max(bottom, ends[i+1])
	}
	l.frameGangs(y, bottom, ends, gangTexts)
	for i, c := range l.columns[1:] {
		l.addFrame(c.frame, rect{c.left, top, c.right - c.left, ends[i+1] - top}, headers[i])
	}
	if l.runGang != nil || len(l.columns) > 1 && l.columns[1].gang != nil {
		bottom += pad
	}
	return bottom
}

// placeHeaders writes the names of the clusters above their heads.
func (l *layout) placeHeaders(top int) (bottom int, headers [][]text) {
	for _, c := range l.columns[1:] {
		var header []text
		bottom = max(bottom, l.writeBlock(&header, c.frame.Name, c.frame.Lines, c.box, top+pad/2)+gap/2)
		headers = append(headers, header)
	}
	return bottom, headers
}

// placeGangTexts writes what a gang is into the column where its frame begins.
func (l *layout) placeGangTexts(y int) (bottom int, texts [][]text) {
	texts, bottom = make([][]text, len(l.columns)), y
	for i, c := range l.columns {
		gang := c.gang
		if l.runGang != nil && i == l.firstOfGang() {
			gang = l.runGang
		}
		if gang != nil {
			bottom = max(bottom, l.writeBlock(&texts[i], gang.Name, gang.Lines, c.box, y+pad/2)+gap)
		}
	}
	return bottom, texts
}

// firstOfGang is the column where the run's gang begins: the driver's if it is a member.
func (l *layout) firstOfGang() int {
	if len(l.runGang.Nodes) > 0 {
		return 0
	}
	return 1
}

// frameGangs draws the frames of gangs from the given top on.
func (l *layout) frameGangs(top, bottom int, ends []int, texts [][]text) {
	if l.runGang != nil {
		first := l.firstOfGang()
		left := l.columns[first].left - pad
		l.addFrame(l.runGang, rect{left, top, l.last().right + pad - left, bottom + pad - top}, texts[first])
	}
	for i, c := range l.columns {
		if c.gang != nil {
			l.addFrame(c.gang, rect{c.left - pad, top, c.right - c.left + 2*pad, ends[i] + pad - top}, texts[i])
		}
	}
}

// placeRegistry puts the keys into the first column.
func (l *layout) placeRegistry(y int) int {
	registry := l.registryFrame()
	if registry == nil {
		return y
	}
	top, first := y+2*gap, l.columns[0]
	var texts []text
	end := l.writeBlock(&texts, registry.Name, registry.Lines, first.box, top+pad/2) + gap/2
	for i, node := range registry.Nodes {
		if i > 0 {
			end += gap
		}
		end = l.add(l.textBox(node, first.box, end))
	}
	end += gap
	l.addFrame(registry, rect{first.left, top, l.last().right - first.left, end - top}, texts)
	return end
}

func (l *layout) registryFrame() *Frame {
	for i := range l.g.Frames {
		if l.g.Frames[i].Kind == FrameRegistry {
			return &l.g.Frames[i]
		}
	}
	return nil
}

// placeLegend explains the lines that are drawn, side by side where they fit.
func (l *layout) placeLegend(y int) {
	const sample = 34
	x, y := margin, y+2*gap+lineSize
	for _, s := range edgeStyles {
		if !l.g.has(s.kind) {
			continue
		}
		width := sample + pad + widthOf(s.means, lineSize, false)
		if x > margin && x+width > l.d.width-margin {
			x, y = margin, y+lineHeight(lineSize)+4
		}
		l.d.width = max(l.d.width, x+width+margin)
		l.d.legend = append(l.d.legend, legendItem{s, point{x, y - lineSize/3}, text{s.means, point{x + sample + pad, y}, lineSize, false}})
		x += width + 2*gap
	}
	l.d.height = y + margin
}
