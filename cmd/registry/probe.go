package main

import (
	"context"
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
