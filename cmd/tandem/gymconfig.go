package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/gymconfig"
)

// gymConfigOptions are the flags of `tandem gym-config`.
type gymConfigOptions struct {
	output, format, ports string
	keep                  []string
	keepEnv, strict       bool
}

func newGymConfig(o *options) *cobra.Command {
	var flags gymConfigOptions
	cmd := &cobra.Command{
		Use:   "gym-config RECIPE [OVERRIDE...]",
		Short: "Take Gym's part out of a NeMo-RL recipe, for a Gym cluster of its own",
		Long: `gym-config reads a GRPO recipe with the files that it builds on, resolves the references in its section env.nemo_gym as
OmegaConf does, and writes the section for NeMo-RL's standalone Gym server (its --config-yaml).

References to what only Gym knows, like ${policy_base_url}, stay. What nobody can resolve is left out and listed on stderr with
its path, its value and the reason; with --strict nothing is written then. Overrides are those of NeMo-RL's command line:
KEY=VALUE, +KEY=VALUE, ++KEY=VALUE, ~KEY. docs/gym.md has the rules.`,
		Example: `  tandem gym-config grpo.yaml -o gym.yaml
  tandem gym-config grpo.yaml --port-range 15000-15999 --strict policy.model_name=Qwen/Qwen3-4B`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which recipe? tandem gym-config RECIPE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return gymConfig(o, args[0], args[1:], flags) },
	}
	cmd.Flags().StringVarP(&flags.output, "output", "o", "-", "the file to write; - is stdout")
	cmd.Flags().StringVar(&flags.format, "format", "yaml", "yaml or json")
	cmd.Flags().StringVar(&flags.ports, "port-range", "", "LOW-HIGH: the ports that Gym's servers take, as port_range_low and port_range_high; default: what the recipe says")
	cmd.Flags().StringArrayVar(&flags.keep, "keep", nil, "a key that Gym gets from elsewhere, e.g. from a file in config_paths: references to it stay; may be repeated")
	cmd.Flags().BoolVar(&flags.keepEnv, "keep-env", false, "leave ${oc.env:...} to Gym and its environment; default: they are resolved with this one")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "write nothing and exit with 1 if something cannot be resolved")
	return cmd
}

func gymConfig(o *options, recipe string, overrides []string, flags gymConfigOptions) error {
	if err := oneOf("format", flags.format, "yaml", "json"); err != nil {
		return err
	}
	extract := gymconfig.Options{Overrides: overrides, Keep: flags.keep}
	if !flags.keepEnv {
		extract.Env = os.LookupEnv
	}
	if flags.ports != "" {
		ports, err := gymconfig.ParsePortRange(flags.ports)
		if err != nil {
			return usageError{fmt.Errorf("--port-range: %w", err)}
		}
		extract.Ports = ports
	}
	result, err := gymconfig.Extract(recipe, extract)
	if err != nil {
		return gymConfigError(err)
	}
	for _, one := range result.Dropped {
		fmt.Fprintf(o.ErrOut, "dropped %s\n", one)
	}
	if count := len(result.Dropped); flags.strict && count > 0 {
		return hinted{
			fmt.Errorf("%s: %d of its values cannot be resolved, so nothing is written (--strict)", recipe, count),
			"give them a value by an override, or name what Gym knows itself with --keep KEY",
		}
	}
	return o.writeGymConfig(result, flags)
}

// gymConfigError tells mistakes in the recipe from mistakes in the command line.
func gymConfigError(err error) error {
	file := (*gymconfig.FileError)(nil)
	if errors.As(err, &file) {
		return &runFileError{file.File, file.Err}
	}
	return usageError{err}
}

func (o *options) writeGymConfig(result *gymconfig.Result, flags gymConfigOptions) error {
	write := result.WriteYAML
	if flags.format == "json" {
		write = result.WriteJSON
	}
	if flags.output == "-" {
		return write(o.Out)
	}
	if err := notAnInput(flags.output, result.Files); err != nil {
		return err
	}
	if info, err := os.Stat(flags.output); err == nil && !info.Mode().IsRegular() {
		return writeInto(flags.output, write)
	}
	name := flags.output
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // the link stays
	}
	if err := replaceFile(name, write); err != nil {
		return fmt.Errorf("-o %s: %w", flags.output, err)
	}
	return nil
}

// writeInto writes to what is no file, like /dev/stdout.
func writeInto(name string, write func(io.Writer) error) error {
	device, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return errors.Join(write(device), device.Close())
}

// notAnInput refuses to write over the recipe or a file that it builds on.
func notAnInput(output string, inputs []string) error {
	info, err := os.Stat(output)
	if err != nil {
		return nil // a new file, or one that cannot be written, which is found out then
	}
	same := func(input string) bool {
		other, err := os.Stat(input)
		return err == nil && os.SameFile(info, other)
	}
	if i := slices.IndexFunc(inputs, same); i >= 0 {
		return usageError{fmt.Errorf("-o %s: it is %s, which is read; name another file", output, inputs[i])}
	}
	return nil
}

// replaceFile writes a file at once or not at all. It is for its owner alone: resolved variables can be secrets.
func replaceFile(name string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
