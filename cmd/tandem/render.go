package main

import (
	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/manifests"
)

func newRender(o *options) *cobra.Command {
	var file, output, splitDir string
	cmd := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Print the objects that a Run file becomes, as `up` applies them",
		Example: `  tandem render -f examples/disagg-jobset.yaml
  tandem render -f run.yaml | kubectl diff -f -
  tandem render -f run.yaml --split-dir base   # to be patched by kustomize`,
		Args: onlyFile,
		RunE: func(*cobra.Command, []string) error {
			if err := oneOf("output", output, "yaml", "json"); err != nil {
				return err
			}
			return render(o, file, output, splitDir)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the Run file; - is stdin")
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "yaml or json")
	cmd.Flags().StringVar(&splitDir, "split-dir", "", "write each object into a file of this empty folder, with a kustomization.yaml")
	cmd.MarkFlagsMutuallyExclusive("output", "split-dir")
	return cmd
}

func render(o *options, file, output, splitDir string) error {
	run, err := o.loadRun(file)
	if err != nil {
		return err
	}
	objects, err := manifests.Render(run)
	if err != nil {
		return err
	}
	if splitDir != "" {
		return manifests.WriteFiles(splitDir, objects)
	}
	if output == "json" {
		return manifests.WriteJSON(o.Out, objects)
	}
	return manifests.WriteYAML(o.Out, objects)
}
