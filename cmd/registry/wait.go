package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
)

// probeTimeout bounds one probe, progressEvery the silence of a wait.
const (
	probeTimeout  = 5 * time.Second
	progressEvery = 10 * time.Second
)

// probe asks once; nil is an answer.
type probe func(context.Context) error

func waitFor(ctx context.Context, args []string, std streams) error {
	flags := flag.NewFlagSet("registry wait", flag.ContinueOnError)
	tcp := flags.String("tcp", "", "HOST:PORT that accepts connections")
	url := flags.String("http", "", "URL that answers 2xx")
	timeout := flags.Duration("timeout", 20*time.Minute, "exit 3 after this long")
	rest, err := parse(flags, args, std)
	if err != nil {
		return err
	}
	if (*tcp == "") == (*url == "") || len(rest) > 0 {
		return usageError{errors.New("usage: registry wait --tcp HOST:PORT | --http URL [--timeout 20m]")}
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	what, ask := *tcp, probeTCP(*tcp)
	if *url != "" {
		what, ask = *url, probeHTTP(*url)
	}
	if err := await(ctx, what, ask); err != nil {
		return fmt.Errorf("waited %s for %s: %w", *timeout, what, err)
	}
	klog.FromContext(ctx).Info("answers", "address", what)
	return nil
}

// await probes with back-off until there is an answer or ctx ends, and says every ten seconds what it waits for.
func await(ctx context.Context, what string, ask probe) error {
	var retry kubeclient.Backoff
	began, said := time.Now(), time.Now()
	for {
		last := ask(ctx)
		if last == nil {
			return nil
		}
		if time.Since(said) >= progressEvery {
			said = time.Now()
			klog.FromContext(ctx).Info("waiting", "for", what, "since", time.Since(began).Round(time.Second).String(), "last", last.Error())
		}
		if ended := retry.Wait(ctx, nil); ended != nil {
			return fmt.Errorf("%w; last seen: %w", ended, last)
		}
	}
}

func probeTCP(address string) probe {
	return func(ctx context.Context) error {
		dialer := net.Dialer{Timeout: probeTimeout}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

func probeHTTP(url string) probe {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}
}
