package graph

// eachNode visits all nodes in the order of the picture.
func (g Graph) eachNode(visit func(Node)) {
	for _, node := range g.Nodes {
		visit(node)
	}
	for _, frame := range g.Frames {
		frame.eachNode(visit)
	}
}

func (f Frame) eachNode(visit func(Node)) {
	for _, node := range f.Nodes {
		visit(node)
	}
	for _, inner := range f.Frames {
		inner.eachNode(visit)
	}
}

// has tells whether an edge of the kind is drawn.
func (g Graph) has(kind EdgeKind) bool {
	for _, edge := range g.Edges {
		if edge.Kind == kind {
			return true
		}
	}
	return false
}
