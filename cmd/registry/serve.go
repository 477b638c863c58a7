package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/registry"
)

func serve(ctx context.Context, args []string, std streams) error {
	var t target
	var pubs publications
	flags := flag.NewFlagSet("registry serve", flag.ContinueOnError)
	t.bind(flags)
	pubs.bind(flags)
	listen := flags.String("listen", "127.0.0.1:9440", "loopback address to serve on")
	store, _, err := openWith(flags, &t, args, std)
	if err != nil {
		return err
	}
	list, err := pubs.complete()
	if err := errors.Join(err, checkLoopback(*listen)); err != nil {
		return usageError{err}
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	return serveOn(ctx, listener, store, list)
}

// serveOn serves and publishes until ctx ends, then withdraws what was published.
func serveOn(ctx context.Context, listener net.Listener, store *registry.Store, list []publication) error {
	klog.FromContext(ctx).Info("serving", "address", listener.Addr().String(), "registry", store.String(), "publications", len(list))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return listenUntilDone(ctx, listener, newHandler(store)) })
	for _, pub := range list {
		group.Go(publisher{pub, store}.runIn(ctx))
	}
	return group.Wait()
}

func (p publisher) runIn(ctx context.Context) func() error {
	return func() error { return p.run(ctx) }
}

// listenUntilDone serves HTTP. When ctx ends, requests that wait are ended with it.
func listenUntilDone(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- shutdown(ctx, server) })
	err := server.Serve(listener)
	if stop() {
		return err // it ended by itself
	}
	return <-stopped
}

func shutdown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	return server.Shutdown(ctx)
}

// checkLoopback refuses an address that other pods can reach: there is no authentication.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("--listen %q: only a loopback address (127.0.0.1, [::1], localhost): the server has no authentication", address)
}
