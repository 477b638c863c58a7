package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// run is the program without the process around it.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	log.SetLogger(klog.Background())
	cmd := newRoot(streams)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		return fail(streams.ErrOut, err)
	}
	return exitOK
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	o := newOptions(streams)
	root := &cobra.Command{
		Use:   "tandem",
		Short: "Deploy disaggregated RL training on Kubernetes",
		Long: `tandem deploys disaggregated RL training on Kubernetes: Ray clusters for training, generation and environments that ride
together. One file describes the run; see examples/ for files to copy.

Exit codes: 0 ok; 1 failed (also when the run failed under "up --wait"); 2 wrong usage or a bad Run file.`,
		SilenceUsage:  true,
		SilenceErrors: true,
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
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	o.addGlobalFlags(root.PersistentFlags())
	root.AddCommand(newRender(o), newUp(o), newStatus(o), newDown(o))
	markUsage(root)
	return root
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
