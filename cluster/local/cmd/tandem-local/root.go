//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	local "github.com/tandem-rl/tandem/cluster/local"
	"github.com/tandem-rl/tandem/cluster/local/internal/step"
)

// app is what every command shares.
type app struct {
	config local.Config
	stdout io.Writer // data
	stderr io.Writer // talk
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	a := &app{stdout: stdout, stderr: stderr}
	root := &cobra.Command{
		Use:   "tandem-local",
		Short: "A real Kubernetes on one Linux machine, without Docker",
		Long: `tandem-local runs a real Kubernetes on one Linux machine, without Docker, for tests and demos.

Exit codes: 0 ok; 1 everything else.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	f := root.PersistentFlags()
	f.StringVar(&a.config.Name, "name", "default", "which instance")
	f.StringVar(&a.config.Root, "root", "", "folder of all instances (default /var/lib/tandem-local)")
	f.StringVar(&a.config.Cache, "cache", "", "folder of the built binaries (default ~/.cache/tandem-local)")
	f.StringVar(&a.config.Source, "source", "", "folder of the cluster/local module (default: where this program was built)")
	root.AddCommand(a.up(), a.down(), a.status(), a.load(), a.stop(), a.start(), a.kubeconfig(), a.assets(), a.image(), a.supervise(), a.devicePlugin())
	return root
}

func (a *app) up() *cobra.Command {
	var images []string
	cmd := &cobra.Command{
		Use: "up", Short: "Start an instance and wait until it is ready", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, err := local.Up(cmd.Context(), a.config, a.stderr)
			if err != nil {
				return err
			}
			if err := a.loadImages(cmd.Context(), images); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "export KUBECONFIG=%s\nexport PATH=%s:$PATH\n", cluster.Kubeconfig, cluster.Assets)
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&a.config.GPUs, "gpus", 0, "fake nvidia.com/gpu devices of the real node")
	f.IntVar(&a.config.Nodes, "nodes", 0, "simulated nodes to add (kwok)")
	f.IntVar(&a.config.NodeGPUs, "node-gpus", 8, "nvidia.com/gpu of each simulated node")
	f.IntVar(&a.config.APIPort, "api-port", 0, "port of the API server on 127.0.0.1 (default: a free one)")
	f.BoolVar(&a.config.FSync, "fsync", false, "let etcd wait for the disk, as in production")
	f.StringSliceVar(&images, "load", nil, "image tarball to import into the node")
	return cmd
}

func (a *app) down() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "down", Short: "Remove an instance and all that it made", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			dropped, err := local.Down(cmd.Context(), a.config, a.stderr)
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(a.stdout).Encode(map[string]any{"dropped": dropped})
			}
			_, err = fmt.Fprintf(a.stdout, "packets dropped: %s\n", dropped)
			return err
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func (a *app) status() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "status", Short: "Show the processes of an instance", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			status, err := local.Inspect(cmd.Context(), a.config)
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(a.stdout).Encode(status)
			}
			return writeStatus(a.stdout, status)
		},
	}
	outputFlag(cmd, &output)
	return cmd
}

func outputFlag(cmd *cobra.Command, output *string) {
	cmd.Flags().StringVarP(output, "output", "o", "table", "table or json")
}

func checkOutput(output string) error {
	if output != "table" && output != "json" {
		return fmt.Errorf("output %q: must be table or json", output)
	}
	return nil
}

func writeStatus(out io.Writer, s *local.Status) error {
	fmt.Fprintf(out, "instance %s  ready %t  kubeconfig %s\n", s.Config.Name, s.Ready, s.Kubeconfig)
	fmt.Fprintf(out, "packets dropped: %s\n\n", s.Dropped)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "PROCESS\tPID\tSTATE\tLOG")
	for _, p := range s.Processes {
		state := "running"
		if !p.Running {
			state = p.Exit
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", p.Name, p.PID, state, p.Log)
	}
	return w.Flush()
}

func (a *app) load() *cobra.Command {
	return &cobra.Command{
		Use: "load IMAGE.tar...", Short: "Import images into the node", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.loadImages(cmd.Context(), args)
		},
	}
}

func (a *app) loadImages(ctx context.Context, files []string) error {
	for _, file := range files {
		err := step.New(a.stderr).Do("Loading "+filepath.Base(file), func() error { return local.Load(ctx, a.config, file) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) stop() *cobra.Command {
	var kill bool
	cmd := &cobra.Command{
		Use: "stop PROCESS", Short: "End one process of an instance, to see what happens", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return step.New(a.stderr).Do("Stopping "+args[0], func() error {
				return local.StopProcess(cmd.Context(), a.config, args[0], kill)
			})
		},
	}
	cmd.Flags().BoolVar(&kill, "kill", false, "with SIGKILL instead of SIGTERM")
	return cmd
}

func (a *app) start() *cobra.Command {
	return &cobra.Command{
		Use: "start PROCESS", Short: "Start a process that has ended once more", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return step.New(a.stderr).Do("Starting "+args[0], func() error {
				return local.StartProcess(cmd.Context(), a.config, args[0])
			})
		},
	}
}

func (a *app) kubeconfig() *cobra.Command {
	return &cobra.Command{
		Use: "kubeconfig", Short: "Print the path of the administrator's kubeconfig", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := local.Inspect(cmd.Context(), a.config)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, status.Kubeconfig)
			return err
		},
	}
}

func (a *app) assets() *cobra.Command {
	return &cobra.Command{
		Use: "assets", Short: "Build what is missing and print the folder of the binaries (KUBEBUILDER_ASSETS)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := a.config.WithDefaults()
			if err != nil {
				return err
			}
			dir, err := local.Build(cmd.Context(), config, step.New(a.stderr))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, dir)
			return err
		},
	}
}
