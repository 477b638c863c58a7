package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/tandem-rl/tandem/test/rayline"
)

// rayJobSubmit submits and follows the log. As Ray's it exits 1 for a job that failed, whatever its exit code, and 0 for
// one that was stopped.
func rayJobSubmit(ctx context.Context, args []string, out io.Writer) int {
	f := parseFlags(args, "no-wait", "verbose")
	client := jobClient{base: strings.TrimRight(f.get("address", os.Getenv("RAY_ADDRESS")), "/"), id: f.get("submission-id", "")}
	if client.base == "" || client.id == "" || len(f.rest) == 0 {
		return complain("usage: ray job submit --address http://HOST:PORT --submission-id ID -- COMMAND [ARG...]")
	}
	if err := client.submit(ctx, rayline.Join(f.rest)); err != nil {
		return complain("ray job submit: %v", err)
	}
	fmt.Fprintf(out, "Job '%s' submitted successfully\n", client.id)
	if f.has("no-wait") {
		return 0
	}
	if err := client.follow(ctx, out); err != nil {
		return complain("ray job submit: lost the head while job %s ran: %v", client.id, err)
	}
	info, err := client.info(ctx)
	if err != nil || info.Status == running {
		return complain("ray job submit: lost the head while job %s ran: %v", client.id, err)
	}
	fmt.Fprintf(out, "Job '%s' %s\n", client.id, strings.ToLower(info.Status))
	if info.Status != failed {
		return 0
	}
	fmt.Fprintln(out, "Status message:", info.Message)
	return 1
}

// jobClient speaks to a head's dashboard about one job.
type jobClient struct{ base, id string }

func (c jobClient) submit(ctx context.Context, entrypoint string) error {
	body, err := json.Marshal(submission{ID: c.id, Entrypoint: entrypoint})
	if err != nil {
		return err
	}
	resp, err := c.do(ctx, http.MethodPost, "/api/jobs/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c jobClient) follow(ctx context.Context, out io.Writer) error {
	resp, err := c.do(ctx, http.MethodGet, "/api/jobs/"+url.PathEscape(c.id)+"/logs?follow=true", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(out, resp.Body)
	return err
}

func (c jobClient) info(ctx context.Context) (info jobInfo, err error) {
	resp, err := c.do(ctx, http.MethodGet, "/api/jobs/"+url.PathEscape(c.id), nil)
	if err != nil {
		return info, err
	}
	defer resp.Body.Close()
	return info, json.NewDecoder(resp.Body).Decode(&info)
}

// do returns an error for every answer but 200.
func (c jobClient) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // the status says enough
	return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(text))
}
