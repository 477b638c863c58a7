package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/importer"
)

// importOptions are the flags of `tandem import`.
type importOptions struct{ output, name, user string }

func newImport(o *options) *cobra.Command {
	var flags importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a Run file of JobSet, RayCluster and RayJob manifests, or of an infra file of nrl-k8s",
		Long: `import makes one Run file of existing manifests: a JobSet, a RayJob, one or several RayClusters, or an infra file of nrl-k8s.

What the Run file has no field for is kept in podTemplate overlays. What is neither expressed nor kept is listed on stderr with its
path, its value and the reason; what you have to fill in or look at is listed after it, as "needs". docs/import.md has the rules.`,
		Example: `  tandem import disagg-jobset.yaml > run.yaml
  tandem import rl.yaml gym.yaml --name qwen3-grpo -o run.yaml
  tandem import qwen3.infra.yaml --user researcher-1 | tandem render -f -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which files? tandem import FILE...; - is stdin")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return importFiles(o, args, flags) },
	}
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "the Run file to write, which must not exist; default: stdout")
	cmd.Flags().StringVar(&flags.name, "name", "", "the run's name; default: what the workloads are called")
	cmd.Flags().StringVar(&flags.user, "user", "", "what ${user:} in an infra file means; default: NRL_K8S_USER, or the user of the operating system")
	return cmd
}

func importFiles(o *options, names []string, flags importOptions) error {
	files, err := o.readFiles(names)
	if err != nil {
		return err
	}
	result, err := importer.Import(files, importer.Options{Name: flags.name, User: flags.userName()})
	if invalid := (*importer.InvalidError)(nil); errors.As(err, &invalid) {
		result = invalid.Result
		err = hinted{&runFileError{flags.outputName(), invalid.Err}, "the file is written as far as it goes; --name gives the run another name"}
	} else if err != nil {
		return &runFileError{strings.Join(names, ", "), err}
	}
	if err := o.writeRun(flags.output, result.YAML); err != nil {
		return err
	}
	reportDropped(o.ErrOut, result.Dropped)
	reportNeeds(o.ErrOut, result.Needs)
	return err
}

// outputName is what the written file is called in messages.
func (f importOptions) outputName() string {
	if f.output == "" {
		return "the Run"
	}
	return f.output
}

func (o *options) readFiles(names []string) ([]importer.File, error) {
	files := make([]importer.File, len(names))
	for i, name := range names {
		data, err := o.readFile(name)
		if err != nil {
			return nil, &runFileError{name, err}
		}
		files[i] = importer.File{Name: name, Data: data}
		if name == "-" {
			files[i].Name = "stdin"
		}
	}
	return files, nil
}

// userName is as nrl-k8s has it: of characters that names of objects may have.
func (f importOptions) userName() string {
	name := f.user
	if name == "" {
		name = os.Getenv("NRL_K8S_USER")
	}
	if name == "" {
		if current, err := user.Current(); err == nil {
			name = current.Username
		}
	}
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

// writeRun never overwrites: the file may have been edited since it was imported.
func (o *options) writeRun(file string, data []byte) error {
	if file == "" {
		_, err := o.Out.Write(data)
		return err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return hinted{usageError{fmt.Errorf("%s exists, and import never overwrites", file)}, "remove it, or name another with -o"}
	}
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Close())
}

// reportDropped lists what is not in the Run by object and reason.
func reportDropped(w io.Writer, dropped []importer.Dropped) {
	for _, object := range groupsOf(dropped, func(d importer.Dropped) string { return d.Object }) {
		fmt.Fprintf(w, "dropped from %s:\n", object[0].Object)
		for _, reason := range groupsOf(object, func(d importer.Dropped) string { return d.Reason }) {
			fmt.Fprintf(w, "  %s:\n", reason[0].Reason)
			for _, d := range reason {
				fmt.Fprintf(w, "    %s\n", d)
			}
		}
	}
}

// groupsOf keeps the order in which the groups begin.
func groupsOf(list []importer.Dropped, of func(importer.Dropped) string) [][]importer.Dropped {
	at := map[string]int{}
	var out [][]importer.Dropped
	for _, d := range list {
		key := of(d)
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, nil)
		}
		out[at[key]] = append(out[at[key]], d)
	}
	return out
}

func reportNeeds(w io.Writer, needs []string) {
	if len(needs) > 0 {
		fmt.Fprintf(w, "needs:\n  %s\n", strings.Join(needs, "\n  "))
	}
}
