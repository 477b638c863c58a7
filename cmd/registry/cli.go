package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// streams are the process's standard streams. Data goes to out, talk to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

const usage = `usage: registry COMMAND [flags]

In a pod
  serve   serve the registry to the pod and publish its endpoints
  wait    wait until keys are there, or an address answers (init containers)
  exec    run a command, and report it as the run's failure if it fails

For people
  get     print the value of a key
  set     write a key
  list    print all keys
  watch   print keys whenever they change
  join    add a member to the list of a key
  leave   remove a member from the list of a key
  delete  remove a key
  fail    report that the run has failed
  reset   begin a new incarnation of the run

registry COMMAND -h prints the flags of a command.
`

var commands = map[string]func(context.Context, []string, streams) error{
	"serve":  serve,
	"wait":   waitFor,
	"exec":   execute,
	"get":    get,
	"set":    set,
	"list":   list,
	"watch":  watch,
	"join":   join,
	"leave":  leave,
	"delete": remove,
	"fail":   fail,
	"reset":  reset,
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, std streams) int {
	if len(args) == 0 {
		fmt.Fprint(std.err, usage)
		return exitUsage
	}
	command, known := commands[args[0]]
	if !known {
		fmt.Fprintf(std.err, "error: unknown command %q\n\n%s", args[0], usage)
		return exitUsage
	}
	err := command(withLogger(ctx, std.err), args[1:], std)
	if err != nil && !errors.Is(err, flag.ErrHelp) && !errors.As(err, new(childError)) {
		fmt.Fprintln(std.err, "error:", err)
	}
	return exitCode(err)
}

// withLogger sends logs to w as JSON.
func withLogger(ctx context.Context, w io.Writer) context.Context {
	return klog.NewContext(ctx, logr.FromSlogHandler(slog.NewJSONHandler(w, nil)))
}

// parse reads flags, which may stand before, between and after the arguments, and returns the arguments. A mistake is a
// usage error.
func parse(flags *flag.FlagSet, args []string, std streams) (rest []string, err error) {
	flags.SetOutput(std.err)
	for {
		if err := flags.Parse(args); err != nil {
			return nil, usageOrHelp(err)
		}
		if flags.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, flags.Arg(0)), flags.Args()[1:]
	}
}

func usageOrHelp(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usageError{err}
}
