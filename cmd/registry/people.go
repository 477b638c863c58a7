package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

// patience bounds the commands for people where they do not say how long to wait.
const patience = 30 * time.Second

// command parses the flags that all commands for people share and checks the number of arguments.
func command(name string, args []string, std streams, wants ...string) (*registry.Store, []string, error) {
	var t target
	flags := flag.NewFlagSet("registry "+name, flag.ContinueOnError)
	t.bind(flags)
	return openWith(flags, &t, args, std, wants...)
}

func openWith(flags *flag.FlagSet, t *target, args []string, std streams, wants ...string) (*registry.Store, []string, error) {
	rest, err := parse(flags, args, std)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) != len(wants) {
		return nil, nil, usageError{fmt.Errorf("usage: %s [flags] %s", flags.Name(), strings.Join(wants, " "))}
	}
	store, err := t.open()
	return store, rest, err
}

func get(ctx context.Context, args []string, std streams) error {
	var t target
	flags := flag.NewFlagSet("registry get", flag.ContinueOnError)
	t.bind(flags)
	wait := flags.Duration("wait", 0, "wait this long for the key")
	store, args, err := openWith(flags, &t, args, std, "KEY")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(*wait, patience))
	defer cancel()
	value, err := read(ctx, store, args[0], *wait)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, value)
	return err
}

// read reads a key, waiting for it where wait is not 0.
func read(ctx context.Context, store *registry.Store, key string, wait time.Duration) (string, error) {
	if wait == 0 {
		return store.GetNow(ctx, key)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return store.Get(ctx, key)
}

func set(ctx context.Context, args []string, std streams) error {
	store, args, err := command("set", args, std, "KEY", "VALUE")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return store.Set(ctx, args[0], args[1])
}

func fail(ctx context.Context, args []string, std streams) error {
	store, args, err := command("fail", args, std, "MESSAGE")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return store.Fail(ctx, args[0])
}

func list(ctx context.Context, args []string, std streams) error {
	store, _, err := command("list", args, std)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	endpoints, err := store.List(ctx)
	if err != nil {
		return err
	}
	return printEndpoints(std.out, endpoints)
}

func printEndpoints(w io.Writer, endpoints []registry.Endpoint) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tVALUE\tPUBLISHERS")
	for _, e := range endpoints {
		fmt.Fprintf(table, "%s\t%s\t%s\n", e.Key, e.Value, strings.Join(e.Publishers, ","))
	}
	return table.Flush()
}
