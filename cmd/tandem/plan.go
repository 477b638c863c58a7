package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/plan"
)

func newPlan(o *options) *cobra.Command {
	var (
		file, output string
		offline      bool
	)
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Say what a run will be, and whether the cluster has room for it",
		Long: `Say what a run will be: its objects, its pods with what they ask for, what the scheduler starts together, who may do what, and the
addresses of heads. Then ask the cluster whether it knows the kinds, has the secrets, volumes and classes that the pods need, lets you
do what "tandem up" does, and has room in queues and on nodes. Nothing is changed. What you may not look at is "cannot tell".

The last line is the verdict: "fits" (exit code 0), or the first thing that is missing, refused or short (exit code 1). Whether pods fit
is an estimate; docs/plan.md says what it counts.`,
		Example: `  tandem plan -f run.yaml
  tandem plan -f run.yaml --offline
  tandem plan -f run.yaml -o json | jq .total`,
		Args: onlyFile,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", output, "text", "json"); err != nil {
				return err
			}
			run, err := o.loadRun(file)
			if err != nil {
				return err
			}
			p, err := plan.Of(run)
			if err != nil {
				return err
			}
			hint, err := o.judge(cmd.Context(), p, offline)
			if err != nil {
				return err
			}
			return o.tell(p, output, offline, hint)
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the Run file; - is stdin")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().BoolVar(&offline, "offline", false, "ask no cluster")
	return cmd
}

// answerWithin bounds every question to the cluster.
const answerWithin = 30 * time.Second

// judge asks the cluster. One that does not answer leaves the plan without a verdict; the error is that of an interruption.
func (o *options) judge(ctx context.Context, p *plan.Plan, offline bool) (hint string, err error) {
	if offline {
		p.Unasked("--offline")
		return "", nil
	}
	config, err := o.restConfig()
	if err != nil {
		p.Unasked(err.Error())
		return "name a file with --kubeconfig or KUBECONFIG, or plan without a cluster: --offline", nil
	}
	config.QPS, config.Burst, config.Timeout = 50, 100, answerWithin
	sight, err := plan.Look(ctx, config, p)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		p.Unasked(err.Error())
		return "--offline plans without a cluster", nil
	}
	p.Judge(sight)
	return "", nil
}

// tell prints the plan, and turns its verdict into an exit code.
func (o *options) tell(p *plan.Plan, output string, offline bool, hint string) error {
	write := func() error { return p.WriteText(o.Out) }
	if output == "json" {
		encoder := json.NewEncoder(o.Out)
		encoder.SetIndent("", "  ")
		write = func() error { return encoder.Encode(p) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	if state := p.Verdict.State; state == plan.OK || state == plan.Unknown && offline {
		return nil
	}
	return said{p.Verdict.Text, hint}
}

// said is a failure that has been printed already.
type said struct{ text, hint string }

func (s said) Error() string { return s.text }
