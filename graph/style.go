package graph

// ink is the colour of texts.
const ink = "#1f2933"

// style is how one kind of node or frame looks.
type style struct {
	class        string
	fill, stroke string
	dash         string
}

var styles = []style{
	{class: string(FrameGang), fill: "none", stroke: "#2f8f83", dash: "7 4"},
	{class: string(FrameCluster), fill: "#f4f7fb", stroke: "#aebfd3"},
	{class: string(FrameRegistry), fill: "#faf8fd", stroke: "#c3b4dc"},
	{class: string(NodeHead), fill: "#e3edf9", stroke: "#4a76ad"},
	{class: string(NodeGPU), fill: "#e6f4e1", stroke: "#5b9a4a"},
	{class: string(NodeCPU), fill: "#ffffff", stroke: "#8a99a8"},
	{class: string(NodeDriver), fill: "#fff3da", stroke: "#c98f22"},
	{class: string(NodeKey), fill: "#eee8f8", stroke: "#8465b8"},
	{class: string(NodeWatch), fill: "#fdeaea", stroke: "#c0504d"},
}

// edgeStyle is how one kind of edge looks.
type edgeStyle struct {
	kind   EdgeKind
	class  string
	colour string
	dash   string
	means  string
}

var edgeStyles = []edgeStyle{
	{Publishes, "publishes", "#2b6cb0", "", "publishes a key"},
	{ReadBy, "reads", "#7d55b5", "", "reads a key (every head may read all)"},
	{SubmitsTo, "submits", "#b9791a", "", "the driver is submitted to"},
	{Watches, "watches", "#c0504d", "5 4", "watches"},
}

// styleOf and styleOfEdge find the look of a kind.
func styleOf(class string) style {
	for _, s := range styles {
		if s.class == class {
			return s
		}
	}
	return style{class: class, fill: "none", stroke: ink}
}

func styleOfEdge(kind EdgeKind) edgeStyle {
	for _, s := range edgeStyles {
		if s.kind == kind {
			return s
		}
	}
	return edgeStyle{kind: kind, colour: ink}
}
