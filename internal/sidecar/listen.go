package sidecar

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// CheckLoopback refuses an address that other pods can reach: there is no authentication.
func CheckLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("--listen %q: only a loopback address (127.0.0.1, [::1], localhost): the server has no authentication", address)
}

// Serve serves HTTP until ctx ends, and closes the listener. Requests that wait are ended with ctx; those that are being
// answered then have as long as patience.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, patience time.Duration) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		stopped <- server.Shutdown(ctx)
	})
	err := server.Serve(listener)
	if stop() {
		return err // it ended by itself
	}
	return <-stopped
}
