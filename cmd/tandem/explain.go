package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/api/schema"
	"github.com/tandem-rl/tandem/api/v1alpha1"
)

func newExplain(o *options) *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:   "explain [FIELD]",
		Short: "Say what a field of a Run file means, may be, and is by default",
		Example: `  tandem explain run.spec
  tandem explain run.spec.clusters.head.gpus
  tandem explain spec.scheduling --recursive`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			field, err := schema.Find(strings.Join(args, ""))
			if err != nil {
				return usageError{withFieldHint(err)}
			}
			if recursive {
				return writeTree(o.Out, field)
			}
			return writeField(o.Out, field)
		},
		ValidArgsFunction: completeField,
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "print the names and types of all fields below")
	return cmd
}

func withFieldHint(err error) error {
	unknown := (*schema.UnknownError)(nil)
	if !errors.As(err, &unknown) {
		return err
	}
	if unknown.Parent.Open() {
		return hinted{err, "kubectl explain podtemplate.template"}
	}
	return hinted{err, "tandem explain " + unknown.Parent.Path}
}

// completeField offers the fields below what is typed already.
func completeField(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) > 0 {
		return nil, directive
	}
	before := typed[:strings.LastIndexByte(typed, '.')+1]
	parent, err := schema.Find(before)
	if err != nil {
		return nil, directive
	}
	var paths []string
	for _, field := range parent.Fields() {
		paths = append(paths, before+field.Name)
	}
	return paths, directive
}

const (
	wide   = 100 // columns
	indent = "    "
)

// writeField prints what there is to say about one field, and the first sentence about each below it.
func writeField(w io.Writer, f schema.Field) error {
	var b strings.Builder
	fmt.Fprintf(&b, "KIND:     %s\nVERSION:  %s\n\nFIELD:    %s <%s>%s\n", v1alpha1.Kind, v1alpha1.APIVersion, f.Path, f.Type(), required(f))
	if text := defaultText(f); text != "" {
		fmt.Fprintf(&b, "DEFAULT:  %s\n", text)
	}
	if f.Description != "" {
		fmt.Fprintf(&b, "\nDESCRIPTION:\n%s\n", wrap(f.Description, indent))
	}
	writeValues(&b, f)
	if children := f.Fields(); len(children) > 0 {
		b.WriteString("\nFIELDS:\n")
		for _, child := range children {
			writeChild(&b, child)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeValues(b *strings.Builder, f schema.Field) {
	values := f.Values()
	if len(values) == 0 {
		return
	}
	b.WriteString("\nALLOWED VALUES:\n")
	for _, value := range values {
		fmt.Fprintf(b, "%s%s\n", indent, value.Value)
		if value.Description != "" && value.Description != value.Value {
			fmt.Fprintln(b, wrap(value.Description, indent+indent))
		}
	}
}

func writeChild(b *strings.Builder, f schema.Field) {
	fmt.Fprintf(b, "%s%s <%s>%s\n", indent, f.Name, f.Type(), required(f))
	if f.Description != "" {
		fmt.Fprintln(b, wrap(firstSentence(f.Description), indent+indent))
	}
}

// writeTree prints the names and types of the fields below, as far as they are the Run file's own.
func writeTree(w io.Writer, f schema.Field) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\t<%s>\n", f.Path, f.Type())
	writeBranch(table, f, "  ")
	return table.Flush()
}

func writeBranch(w io.Writer, f schema.Field, indent string) {
	for _, child := range f.Fields() {
		fmt.Fprintf(w, "%s%s\t<%s>%s\n", indent, child.Name, child.Type(), required(child))
		if child.Own() {
			writeBranch(w, child, indent+"  ")
		}
	}
}

func required(f schema.Field) string {
	if f.Required {
		return " -required-"
	}
	return ""
}

func defaultText(f schema.Field) string {
	switch value := f.Default().Value.(type) {
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(value)
	}
	if on := f.Default().DependsOn; len(on) > 0 {
		return "depends on " + strings.Join(on, " and ")
	}
	return ""
}

// firstSentence ends at the first full stop with a blank after it.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	if sentence, _, more := strings.Cut(text, ". "); more {
		return sentence + "."
	}
	return text
}

// wrap breaks each paragraph into lines.
func wrap(text, indent string) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		line := indent
		for word := range strings.FieldsSeq(paragraph) {
			if line != indent && len(line)+len(word)+1 > wide {
				lines, line = append(lines, line), indent
			}
			if line != indent {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
