//go:build linux

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandem-rl/tandem/cluster/local/internal/image"
)

func (a *app) image() *cobra.Command {
	i := image.Image{Files: map[string]string{}, Links: map[string]string{}}
	var file string
	var links []string
	cmd := &cobra.Command{
		Use: "image --tag TAG --out FILE DEST=SOURCE...", Short: "Write an image of files of this machine", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := pairs(args, i.Files); err != nil {
				return err
			}
			if err := pairs(links, i.Links); err != nil {
				return err
			}
			return i.WriteTo(file)
		},
	}
	f := cmd.Flags()
	f.StringVar(&i.Tag, "tag", "", "name and tag of the image, with a registry's name")
	f.StringVar(&file, "out", "", "tarball to write")
	f.StringVar(&i.User, "user", "", "uid[:gid] to run as")
	f.StringSliceVar(&links, "link", nil, "symbolic link: DEST=TARGET")
	f.StringSliceVar(&i.Dirs, "dir", nil, "empty folder that everyone may write to")
	f.StringSliceVar(&i.Entrypoint, "entrypoint", nil, "command that is run")
	cobra.CheckErr(cmd.MarkFlagRequired("tag"))
	cobra.CheckErr(cmd.MarkFlagRequired("out"))
	return cmd
}

func pairs(args []string, into map[string]string) error {
	for _, arg := range args {
		dest, source, ok := strings.Cut(arg, "=")
		if !ok || !strings.HasPrefix(dest, "/") {
			return fmt.Errorf("%q: want /PATH/IN/IMAGE=VALUE", arg)
		}
		into[dest] = source
	}
	return nil
}
