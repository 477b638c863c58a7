package main

import (
	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/api/schema"
)

func newSchema(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a Run file, for editors and checks",
		Long: `Print the JSON Schema (draft 2020-12) of a Run file.

Editors complete and check a file with it that begins with
  # yaml-language-server: $schema=run.schema.json
What one field refers to in another only tandem itself checks: "tandem render".`,
		Example: `  tandem schema > run.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := schema.JSON()
			if err != nil {
				return err
			}
			_, err = o.Out.Write(data)
			return err
		},
	}
}
