package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// run is the program without the process around it.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	log.SetLogger(klog.Background())
	root := newRoot(streams)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		err = interrupted{text: "interrupted"}
	}
	return fail(streams.ErrOut, inCommand{err, cmd.CommandPath()})
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	o := newOptions(streams)
	root := &cobra.Command{
		Use:   "tandem",
		Short: "Deploy disaggregated RL training on Kubernetes",
		Long: `tandem deploys disaggregated RL training on Kubernetes: Ray clusters for training, generation and environments that ride
together. One file describes the run; see examples/ for files to copy.

Exit codes: 0 ok; 1 failed (also when the run failed under "up --wait"); 2 wrong usage or a bad Run file;
130 interrupted (Ctrl-C, SIGTERM).`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return usageError{errors.New("which command?")}
		},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{plainFlagError(err)} })
	o.addGlobalFlags(root.PersistentFlags())
	root.AddCommand(newRender(o), newImport(o), newPlan(o), newGraph(o), newGymConfig(o), newUp(o), newStatus(o), newDown(o), newVersion(o))
	root.AddCommand(newExplain(o), newSchema(o))
	markUsage(root)
	return root
}

// plainFlagError puts what Go says of a duration into words for people.
func plainFlagError(err error) error {
	invalid := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &invalid) || invalid.GetFlag().Value.Type() != "duration" {
		return err
	}
	return fmt.Errorf("--%s: %q is no duration; e.g. 5s, 10m or 2h", invalid.GetFlag().Name, invalid.GetValue())
}

// onlyFile refuses arguments of a command that takes its file by a flag.
func onlyFile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("give the file with -f: %s -f %s", cmd.CommandPath(), args[0])
}

// markUsage makes wrong arguments of any command a mistake in usage.
func markUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{errors.New(strings.ReplaceAll(err.Error(), "\n", " "))}
			}
			return nil
		}
	}
	for _, child := range cmd.Commands() {
		markUsage(child)
	}
}
