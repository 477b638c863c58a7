package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

const waitUsage = "usage: registry wait KEY... | --tcp HOST:PORT | --http URL [--timeout 20m]"

// waitFor waits for keys, or for an address to answer. It prints the values, a line each.
func waitFor(ctx context.Context, args []string, std streams) error {
	c := newCommand("wait")
	tcp := c.flags.String("tcp", "", "HOST:PORT that accepts connections")
	url := c.flags.String("http", "", "URL that answers 2xx")
	timeout := c.flags.Duration("timeout", 20*time.Minute, "exit 3 after this long")
	keys, err := parse(c.flags, args, std)
	if err != nil {
		return err
	}
	if exactlyOne(*tcp != "", *url != "", len(keys) > 0) != nil {
		return usageError{errors.New(waitUsage)}
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	switch {
	case *tcp != "":
		err = waitForAnswer(ctx, *tcp, probeTCP(*tcp))
	case *url != "":
		err = waitForAnswer(ctx, *url, probeHTTP(*url))
	default:
		err = c.waitForKeys(ctx, keys, std)
	}
	if errors.As(err, new(usageError)) {
		return err
	}
	if err != nil {
		return fmt.Errorf("waited up to %s: %w", *timeout, err)
	}
	return nil
}

func exactlyOne(given ...bool) error {
	n := 0
	for _, one := range given {
		if one {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("want exactly one, got %d", n)
	}
	return nil
}

func waitForAnswer(ctx context.Context, what string, ask probe) error {
	if err := await(ctx, what, ask); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	klog.FromContext(ctx).Info("answers", "address", what)
	return nil
}

func (c *command) waitForKeys(ctx context.Context, keys []string, std streams) error {
	from, err := c.open()
	if err != nil {
		return err
	}
	for _, key := range keys {
		klog.FromContext(ctx).Info("waiting", "for", key)
		value, err := from.Get(ctx, key)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(std.out, value); err != nil {
			return err
		}
	}
	return nil
}
