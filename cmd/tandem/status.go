package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/launch"
)

func newStatus(o *options) *cobra.Command {
	var (
		of     target
		output string
	)
	cmd := &cobra.Command{
		Use:   "status NAME | -f FILE",
		Short: "Show where a run is, and why it failed",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", output, "table", "json"); err != nil {
				return err
			}
			namespace, name, err := of.resolve(o, args)
			if err != nil {
				return err
			}
			launcher, err := o.launcher()
			if err != nil {
				return err
			}
			status, err := launcher.Status(cmd.Context(), namespace, name)
			if err != nil {
				return err
			}
			return writeStatus(o.Out, status, output)
		},
	}
	of.addFlag(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

func writeStatus(out io.Writer, status launch.Status, output string) error {
	if output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "run\t%s/%s\nbackend\t%s\nphase\t%s\n", status.Namespace, status.Name, status.Backend, status.Phase)
	if status.Reason != "" {
		fmt.Fprintf(w, "reason\t%s\n", status.Reason)
	}
	if status.Failed != nil {
		fmt.Fprintf(w, "log\t%s\n", logCommand(status))
	}
	for _, cluster := range status.Clusters {
		fmt.Fprintf(w, "cluster\t%s: %s\n", cluster.Name, readiness(cluster))
	}
	for _, key := range slices.Sorted(maps.Keys(status.Endpoints)) {
		fmt.Fprintf(w, "endpoint\t%s: %s\n", key, status.Endpoints[key])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	writePostMortem(out, status.PostMortem)
	return nil
}

// writePostMortem shows what the failed containers said last, although their pods are gone.
func writePostMortem(out io.Writer, kept []launch.EndedContainer) {
	for _, container := range kept {
		fmt.Fprintf(out, "\n%s\n", container)
		if container.LogError != "" {
			fmt.Fprintf(out, "  its log could not be kept: %s\n", container.LogError)
		}
		for line := range strings.Lines(container.Log) {
			fmt.Fprintf(out, "  %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}

func readiness(cluster launch.ClusterStatus) string {
	if cluster.Workers.Want == 0 {
		return fmt.Sprintf("head %s ready", cluster.Head)
	}
	return fmt.Sprintf("head %s, workers %s ready", cluster.Head, cluster.Workers)
}

// logCommand shows the log of what failed.
func logCommand(status launch.Status) string {
	command := fmt.Sprintf("kubectl logs %s -n %s -c %s", status.Failed.Pod, status.Namespace, status.Failed.Container)
	if status.Failed.Restarted {
		command += " --previous"
	}
	return command
}
