//go:build linux

package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestTheDocumentationNamesEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/local-cluster.md")
	require.NoError(t, err)
	flags := []string{}
	add := func(flag *pflag.Flag) { flags = append(flags, flag.Name) }
	root := newRoot(io.Discard, io.Discard)
	root.PersistentFlags().VisitAll(add)
	for _, cmd := range documented(root) {
		require.Contains(t, string(page), "`"+cmd.Name(), "command")
		cmd.Flags().VisitAll(add)
	}
	slices.Sort(flags)

	named := []string{}
	for _, match := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(string(page), -1) {
		named = append(named, match[1])
	}
	slices.Sort(named)
	require.Equal(t, slices.Compact(flags), slices.Compact(named))
}

func documented(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(root.Commands(), func(cmd *cobra.Command) bool { return cmd.Hidden })
}
