package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

func get(ctx context.Context, args []string, std streams) error {
	c := newCommand("get")
	wait := c.flags.Duration("wait", 0, "wait this long for the key")
	if err := c.parse(args, std, "KEY"); err != nil {
		return err
	}
	from, err := c.open()
	if err != nil {
		return err
	}
	value, err := read(ctx, from, c.args[0], *wait)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, value)
	return err
}

// read reads a key, waiting for it where wait is not 0.
func read(ctx context.Context, from endpoints, key string, wait time.Duration) (string, error) {
	if wait == 0 {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return from.GetNow(ctx, key)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return from.Get(ctx, key)
}

// change is a command that writes.
func change(ctx context.Context, name string, args []string, std streams, do func(context.Context, endpoints, []string) error, wants ...string) error {
	c := newCommand(name)
	if err := c.parse(args, std, wants...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to, err := c.openToWrite(ctx)
	if err != nil {
		return err
	}
	return do(ctx, to, c.args)
}

func set(ctx context.Context, args []string, std streams) error {
	return change(ctx, "set", args, std, func(ctx context.Context, to endpoints, args []string) error {
		return to.Set(ctx, args[0], args[1])
	}, "KEY", "VALUE")
}

func join(ctx context.Context, args []string, std streams) error {
	return change(ctx, "join", args, std, func(ctx context.Context, to endpoints, args []string) error {
		return to.Join(ctx, args[0], args[1])
	}, "KEY", "MEMBER")
}

func leave(ctx context.Context, args []string, std streams) error {
	return change(ctx, "leave", args, std, func(ctx context.Context, to endpoints, args []string) error {
		return to.Leave(ctx, args[0], args[1])
	}, "KEY", "MEMBER")
}

func remove(ctx context.Context, args []string, std streams) error {
	return change(ctx, "delete", args, std, func(ctx context.Context, to endpoints, args []string) error {
		return to.Delete(ctx, args[0])
	}, "KEY")
}

func fail(ctx context.Context, args []string, std streams) error {
	return change(ctx, "fail", args, std, func(ctx context.Context, to endpoints, args []string) error {
		return to.Fail(ctx, args[0])
	}, "MESSAGE")
}

// reset needs the API server: a sidecar belongs to one incarnation and does not begin another.
func reset(ctx context.Context, args []string, std streams) error {
	c := newCommand("reset")
	if err := c.parse(args, std, "INCARNATION"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, err := c.openStore(ctx)
	if err != nil {
		return err
	}
	return store.Reset(ctx, c.args[0])
}

func list(ctx context.Context, args []string, std streams) error {
	c := newCommand("list")
	if err := c.parse(args, std); err != nil {
		return err
	}
	from, err := c.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := from.List(ctx)
	if err != nil {
		return err
	}
	return printEndpoints(std.out, all)
}

// watch prints a table after every change, until it is interrupted or the run has failed.
func watch(ctx context.Context, args []string, std streams) error {
	c := newCommand("watch")
	keys, err := parse(c.flags, args, std)
	if err != nil {
		return err
	}
	from, err := c.open()
	if err != nil {
		return err
	}
	for all, err := range from.Watch(ctx, keys...) {
		if err == nil {
			err = printEndpoints(std.out, all)
		}
		if err != nil {
			return ignoreEnd(ctx, err)
		}
	}
	return nil
}

func printEndpoints(w io.Writer, all []registry.Endpoint) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "KEY\tVALUE\tPUBLISHERS")
	for _, e := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", e.Key, e.Value, strings.Join(e.Publishers, ","))
	}
	return table.Flush()
}
