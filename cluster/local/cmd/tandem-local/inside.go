//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/cluster/local/internal/deviceplugin"
	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// supervise and devicePlugin are run inside an instance by `up`.
func (a *app) supervise() *cobra.Command {
	return &cobra.Command{
		Use: "supervise NAMESPACE", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if os.Getppid() != 1 {
				return fmt.Errorf("supervise is started by `tandem-local up` in namespaces of its own; not by hand")
			}
			var n supervisor.Namespace
			if err := json.Unmarshal([]byte(args[0]), &n); err != nil {
				return err
			}
			return supervisor.Serve(cmd.Context(), n)
		},
	}
}

func (a *app) devicePlugin() *cobra.Command {
	var gpus int
	cmd := &cobra.Command{
		Use: "device-plugin", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return deviceplugin.New(gpus).Run(cmd.Context(), "/var/lib/kubelet/device-plugins")
		},
	}
	cmd.Flags().IntVar(&gpus, "gpus", 0, "how many devices to offer")
	return cmd
}
