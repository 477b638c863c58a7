package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/graph"
)

// pictures are the forms in which a run is drawn.
var pictures = map[string]func(io.Writer, graph.Graph) error{
	"mermaid": graph.WriteMermaid,
	"dot":     graph.WriteDOT,
	"svg":     graph.WriteSVG,
}

func newGraph(o *options) *cobra.Command {
	var file, output string
	cmd := &cobra.Command{
		Use:   "graph -f FILE",
		Short: "Draw a run: clusters, groups, keys of the registry, gangs, and who watches whom",
		Long: `Draw a run as its file describes it: its clusters and groups, who publishes and who reads which key of the registry, what starts
together, and who watches whom. No cluster is asked.

mermaid is shown by GitHub and GitLab inside Markdown, dot is for Graphviz, svg is a picture that every browser shows.`,
		Example: `  tandem graph -f run.yaml -o svg >run.svg
  tandem graph -f run.yaml -o dot | dot -Tpdf >run.pdf`,
		Args: onlyFile,
		RunE: func(*cobra.Command, []string) error {
			if err := oneOf("output", output, "mermaid", "dot", "svg"); err != nil {
				return err
			}
			run, err := o.loadRun(file)
			if err != nil {
				return err
			}
			return pictures[output](o.Out, graph.Of(run))
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the Run file; - is stdin")
	cmd.Flags().StringVarP(&output, "output", "o", "mermaid", "mermaid, dot or svg")
	return cmd
}
