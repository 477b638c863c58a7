// Command demo shows tandem at work: on a local cluster, or on one that is given, it plays every scenario and ends
// with a table.
//
// Exit codes: 0 all of them held, 1 anything else.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/tandem-rl/tandem/test/localcluster"
	"github.com/tandem-rl/tandem/test/scenario"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints the error; the usage is printed when it is asked for
	bin := flags.String("bin", "bin", "folder of the programs and images")
	examples := flags.String("examples", "examples", "folder of the Run files")
	kubeconfig := flags.String("kubeconfig", "", "a cluster to use (default: a local one, made and removed)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		flags.Usage()
		return nil
	} else if err != nil {
		return err
	}
	player := scenario.Player{
		Tandem: *bin + "/tandem", Kubectl: "kubectl", Out: stdout,
		Env: append(os.Environ(), "KUBECONFIG="+*kubeconfig),
	}
	if *kubeconfig != "" {
		if _, err := os.Stat(*kubeconfig); err != nil { // kubectl would go to localhost:8080
			return fmt.Errorf("KUBECONFIG: %w", err)
		}
		if err := player.CheckCluster(ctx); err != nil {
			return err
		}
	} else {
		cluster, err := localcluster.Start(ctx, *bin, "demo", stderr)
		if err != nil {
			return err
		}
		defer func() {
			if errDown := cluster.Stop(context.WithoutCancel(ctx)); err == nil {
				err = errDown
			}
		}()
		player.Kubectl, player.Env = cluster.Kubectl, cluster.Env
	}
	var results []scenario.Result
	for _, s := range scenario.Demo(*examples) {
		fmt.Fprintf(stdout, "\n=== %s: %s on the %s backend must end %s\n", s.Name, s.File, s.Backend, s.Expected())
		results = append(results, player.Play(ctx, s))
	}
	return report(stdout, results)
}

// report prints the table and returns an error when a scenario did not hold.
func report(out io.Writer, results []scenario.Result) error {
	fmt.Fprintln(out)
	for _, r := range results {
		if r.Reason != "" {
			fmt.Fprintf(out, "%s: %s\n", r.Name, r.Reason)
		}
	}
	failed := 0
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nRUN\tBACKEND\tEXPECTED\tRESULT\tSECONDS\t")
	for _, r := range results {
		mark := ""
		if r.Err != nil {
			first, _, _ := strings.Cut(r.Err.Error(), "\n")
			mark = "did not hold: " + first
			failed++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%s\n", r.Name, r.Backend, r.Expected(), r.Phase, r.Seconds, mark)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs did not hold", failed, len(results))
	}
	return nil
}
