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

// Exit codes, as the package comment says.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitDeadline = 3
)

// streams are the process's standard streams. Data goes to out, talk to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

const usage = `usage: registry COMMAND [flags]

  serve   serve the registry on loopback and publish this pod's endpoints
  wait    wait until an address answers (init containers)
  get     print the value of a key
  set     write a key
  list    print all keys
  fail    report that the run has failed

registry COMMAND -h prints the flags of a command.
`

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

var commands = map[string]func(context.Context, []string, streams) error{
	"serve": serve,
	"wait":  waitFor,
	"get":   get,
	"set":   set,
	"list":  list,
	"fail":  fail,
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
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(std.err, "error:", err)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var mistake usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &mistake):
		return exitUsage
	case errors.Is(err, context.DeadlineExceeded):
		return exitDeadline
	default:
		return exitFailed
	}
}

// withLogger sends the libraries' logs, client-go's among them, to w as JSON.
func withLogger(ctx context.Context, w io.Writer) context.Context {
	handler := slog.NewJSONHandler(w, nil)
	klog.SetSlogLogger(slog.New(handler))
	return klog.NewContext(ctx, logr.FromSlogHandler(handler))
}

// parse reads flags, which may stand before, between and after the arguments, and returns the arguments. A mistake is a
// usage error.
func parse(flags *flag.FlagSet, args []string, std streams) (rest []string, err error) {
	flags.SetOutput(std.err)
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, usageError{err}
		}
		if flags.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, flags.Arg(0)), flags.Args()[1:]
	}
}
