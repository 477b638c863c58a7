package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
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

A run that goes on cannot be changed: tandem down, then up. What is unchanged is left alone, so up may be repeated.

With --wait the run is followed to its end, and the exit code is 0 only if it succeeded. Ctrl-C stops waiting, not the run; the exit
code is then 130.`,
		Example: `  tandem up -f run.yaml
  tandem up -f run.yaml --wait --timeout 2h`,
		Args: onlyFile,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if up.timeout != 0 && !up.wait {
				return usageError{errors.New("--timeout bounds --wait: give both")}
			}
			if up.timeout < 0 {
				return usageError{fmt.Errorf("--timeout must not be negative, and is %s", up.timeout)}
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
	if err != nil && ctx.Err() != nil {
		name := run.Metadata.Name
		return interrupted{fmt.Sprintf("interrupted; what was applied of run %s stays", name), fmt.Sprintf("up again goes on with it, tandem down %s removes it", name)}
	}
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
	waiting := ctx
	if up.timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, up.timeout)
		defer cancel()
	}
	began := time.Now()
	status, err := launcher.Wait(waiting, run.Namespace, run.Name, func(line string) { fmt.Fprintln(o.ErrOut, line) })
	look := fmt.Sprintf("tandem status %s shows it, tandem down %s ends it", run.Name, run.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return interrupted{fmt.Sprintf("stopped waiting; run %s goes on", run.Name), look}
	case err != nil && waiting.Err() != nil:
		return hinted{fmt.Errorf("stopped waiting after %s; run %s goes on", sinceThen(began), run.Name), look}
	case err != nil:
		return err
	case status.Phase == launch.Failed:
		return failedRun(ctx, o.ErrOut, launcher, status)
	}
	fmt.Fprintf(o.Out, "run %s %s\n", run.Name, status.Phase)
	return nil
}

const (
	lastLines   = 10
	maxLine     = 400              // bytes
	logsTimeout = 10 * time.Second // a node that is gone does not answer
)

// failedRun is the error of a run that failed. What the failed container said last is shown while it can still be read.
func failedRun(ctx context.Context, w io.Writer, launcher *launch.Launcher, status launch.Status) error {
	hint := fmt.Sprintf("kubectl get pods -n %s -l %s=%s shows what is left of it, tandem down %s removes it",
		status.Namespace, v1alpha1.LabelRun, status.Name, status.Name)
	if status.Failed != nil {
		showLastLines(ctx, w, launcher, status)
		hint = fmt.Sprintf("%s shows the whole log while the pod is there, tandem down %s removes the run", logCommand(status), status.Name)
	}
	return hinted{fmt.Errorf("run %s %s: %s", status.Name, status.Phase, status.Reason), hint}
}

func showLastLines(ctx context.Context, w io.Writer, launcher *launch.Launcher, status launch.Status) {
	ctx, cancel := context.WithTimeout(ctx, logsTimeout)
	defer cancel()
	lines, err := launcher.LastLines(ctx, status.Namespace, *status.Failed, lastLines)
	switch {
	case err != nil:
		fmt.Fprintln(w, err)
	case len(lines) == 0:
		fmt.Fprintf(w, "container %s of pod %s said nothing\n", status.Failed.Container, status.Failed.Pod)
	default:
		fmt.Fprintf(w, "the last lines of container %s of pod %s:\n", status.Failed.Container, status.Failed.Pod)
	}
	for _, line := range lines {
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + "..."
		}
		fmt.Fprintf(w, "  %s\n", line)
	}
}
