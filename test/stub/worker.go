package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// joinWithin is how long a worker tries to reach its head, as Ray's does.
const joinWithin = 60 * time.Second

// runWorker stays connected to the head and fails when it loses it.
func runWorker(ctx context.Context, f flags, out io.Writer) int {
	address := f.get("address", "")
	conn, err := join(ctx, address)
	if err != nil {
		return complain("ray start: cannot reach the head at %s within %s: %v", address, joinWithin, err)
	}
	defer conn.Close()
	fmt.Fprintln(out, "Ray worker joined", address)
	group, ctx := errgroup.WithContext(ctx)
	agent, err := serveAgent(ctx, f)
	if err != nil {
		return complain("ray start: %v", err)
	}
	group.Go(agent)
	group.Go(func() error { return listenToHead(ctx, conn) })
	if err := group.Wait(); err != nil {
		return complain("ray start: %v", err)
	}
	return 0
}

func join(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	for {
		conn, err := dialGCS(ctx, address)
		if err == nil {
			host, _ := os.Hostname()
			_, err = fmt.Fprintln(conn, "worker", host)
			return conn, err
		}
		if pause(ctx, 200*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// listenToHead returns when the head has gone or ctx has ended.
func listenToHead(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	beats := bufio.NewReader(conn)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(beatTimeout)); err != nil && ctx.Err() == nil {
			return fmt.Errorf("lost the head: %w", err)
		}
		if _, err := beats.ReadString('\n'); err != nil && ctx.Err() == nil {
			return fmt.Errorf("lost the head: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}
