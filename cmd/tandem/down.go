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
			if timeout <= 0 {
				return usageError{fmt.Errorf("--timeout must be longer than zero, not %s", timeout)}
			}
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
	began := time.Now()
	removal, err := launcher.Down(ctx, namespace, name, func(line string) { fmt.Fprintln(o.ErrOut, line) })
	for _, object := range removal.Removed {
		fmt.Fprintf(o.Out, "%s removed\n", object)
	}
	goesOn := fmt.Sprintf("tandem down %s goes on with it", name)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return interrupted{fmt.Sprintf("interrupted; run %s is not removed yet", name), goesOn}
	case ctx.Err() != nil && err != nil:
		return hinted{fmt.Errorf("run %s is not removed after %s: %w", name, sinceThen(began), err), goesOn}
	case err != nil:
		return err
	}
	if len(removal.Removed) == 0 {
		fmt.Fprintf(o.ErrOut, "nothing of run %s in namespace %s\nhint: %s\n", name, namespace, otherNamespace)
	}
	return nil
}

// sinceThen is how long something took, for people.
func sinceThen(began time.Time) time.Duration { return time.Since(began).Round(time.Second) }
