package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func newDown(o *options) *cobra.Command {
	var (
		of      target
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "down NAME | -f FILE",
		Short: "Remove a run with everything that belongs to it",
		Long: `Remove a run, whether it goes on or has ended, and wait until its objects and pods are gone. What is removed is found by the label
tandem.dev/run, so the file is not needed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			namespace, name, err := of.resolve(o, args)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return down(ctx, o, namespace, name)
		},
	}
	of.addFlag(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for everything to be gone")
	return cmd
}

func down(ctx context.Context, o *options, namespace, name string) error {
	launcher, err := o.launcher()
	if err != nil {
		return err
	}
	removal, err := launcher.Down(ctx, namespace, name)
	for _, object := range removal.Removed {
		fmt.Fprintf(o.Out, "%s removed\n", object)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return hinted{err, "the cluster is still at it; repeat the command to wait on"}
	}
	if err == nil && len(removal.Removed) == 0 {
		fmt.Fprintf(o.ErrOut, "nothing of run %s in namespace %s\n", name, namespace)
	}
	return err
}
