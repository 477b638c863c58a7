//go:build !linux

// Command tandem-local needs Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "error: tandem-local needs Linux: it starts containers on this machine")
	fmt.Fprintln(os.Stderr, "hint: use a cluster that you have: export KUBECONFIG=/path/to/kubeconfig")
	os.Exit(1)
}
