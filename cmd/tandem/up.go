package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/launch"
)

type upOptions struct {
	file    string
	wait    bool
	timeout time.Duration
}

func newUp(o *options) *cobra.Command {
	var up upOptions
	cmd := &cobra.Command{
		Use:   "up -f FILE",
		Short: "Start a run",
		Long: `Start a run: check the file, let the server check every object, then apply them.

With --wait the run is followed to its end, and the exit code is 0 only if it succeeded. Ctrl-C stops waiting, not the run.`,
		Example: `  tandem up -f run.yaml
  tandem up -f run.yaml --wait --timeout 2h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if up.timeout != 0 && !up.wait {
				return usageError{errors.New("--timeout bounds --wait: give both")}
			}
			return up.run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVarP(&up.file, "filename", "f", "", "the Run file; - is stdin")
	cmd.Flags().BoolVar(&up.wait, "wait", false, "follow the run to its end")
	cmd.Flags().DurationVar(&up.timeout, "timeout", 0, "how long --wait follows the run; 0 is for ever")
	return cmd
}

func (up *upOptions) run(ctx context.Context, o *options) error {
	run, err := o.loadRun(up.file)
	if err != nil {
		return err
	}
	launcher, err := o.launcher()
	if err != nil {
		return err
	}
	changes, err := launcher.Up(ctx, run)
	if err != nil {
		return err
	}
	for _, change := range changes {
		fmt.Fprintf(o.Out, "%s %s\n", change.Object, change.Action)
	}
	if !up.wait {
		fmt.Fprintf(o.ErrOut, "run %s is under way; `tandem status %s` shows it, `tandem down %s` ends it\n",
			run.Metadata.Name, run.Metadata.Name, run.Metadata.Name)
		return nil
	}
	return up.follow(ctx, o, launcher, run.Metadata)
}

// follow waits for the end of a run. To stop waiting leaves the run alone.
func (up *upOptions) follow(ctx context.Context, o *options, launcher *launch.Launcher, run v1alpha1.Metadata) error {
	if up.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, up.timeout)
		defer cancel()
	}
	status, err := launcher.Wait(ctx, run.Namespace, run.Name, func(line string) { fmt.Fprintln(o.ErrOut, line) })
	switch {
	case ctx.Err() != nil:
		return hinted{
			fmt.Errorf("stopped waiting (%w); run %s goes on", ctx.Err(), run.Name),
			fmt.Sprintf("tandem status %s shows it, tandem down %s ends it", run.Name, run.Name),
		}
	case err != nil:
		return err
	case status.Phase == launch.Failed:
		return hinted{
			fmt.Errorf("run %s %s: %s", run.Name, status.Phase, status.Reason),
			fmt.Sprintf("kubectl logs -l %s=%s --all-containers --prefix shows what its pods said, tandem down %s removes it", v1alpha1.LabelRun, run.Name, run.Name),
		}
	}
	fmt.Fprintf(o.Out, "run %s %s\n", run.Name, status.Phase)
	return nil
}
