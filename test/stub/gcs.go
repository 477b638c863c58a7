package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"time"
)

// The stand-in of Ray's GCS speaks lines. A worker says "worker NAME" and is sent a beat every second for as long as
// the head lives; a health check says "ping" and is answered "pong".
const (
	beatEvery   = time.Second
	beatTimeout = 15 * time.Second
)

// serveGCS accepts connections until ctx ends.
func serveGCS(ctx context.Context, listener net.Listener, out io.Writer) error {
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go serveNode(ctx, conn, out)
	}
}

func serveNode(ctx context.Context, conn net.Conn, out io.Writer) {
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	if line == "ping\n" {
		fmt.Fprintln(conn, "pong")
		return
	}
	fmt.Fprintf(out, "gcs: + %s", line)
	for {
		if _, err := fmt.Fprintln(conn, "beat"); err != nil {
			fmt.Fprintf(out, "gcs: - %s", line)
			return
		}
		if pause(ctx, beatEvery) != nil {
			return
		}
	}
}

// rayHealthCheck exits 0 if the GCS answers.
func rayHealthCheck(ctx context.Context, args []string) int {
	address := parseFlags(args).get("address", "127.0.0.1:6379")
	conn, err := dialGCS(ctx, address)
	if err != nil {
		return complain("ray health-check: %v", err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second)) // a connection that cannot is broken, and the read says so
	fmt.Fprintln(conn, "ping")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "pong\n" {
		return complain("ray health-check: %s does not answer: %v", address, err)
	}
	return 0
}

func dialGCS(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return dialer.DialContext(ctx, "tcp", address)
}
