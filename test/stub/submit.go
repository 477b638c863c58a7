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
)

// rayJobSubmit submits, follows the log, and exits as the job did.
func rayJobSubmit(ctx context.Context, args []string, out io.Writer) int {
	f := parseFlags(args, "no-wait", "verbose")
	client := jobClient{base: strings.TrimRight(f.get("address", os.Getenv("RAY_ADDRESS")), "/"), id: f.get("submission-id", "")}
	if client.base == "" || client.id == "" || len(f.rest) == 0 {
		return complain("usage: ray job submit --address http://HOST:PORT --submission-id ID -- COMMAND [ARG...]")
	}
	if err := client.submit(ctx, f.rest); err != nil {
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
	if err != nil || info.ExitCode == nil {
		return complain("ray job submit: lost the head while job %s ran: %v", client.id, err)
	}
	fmt.Fprintf(out, "Job '%s' %s (exit code %d)\n", client.id, strings.ToLower(info.Status), *info.ExitCode)
	return *info.ExitCode
}

// jobClient speaks to a head's dashboard about one job.
type jobClient struct{ base, id string }

// submit starts the job. One of that id that is there already is this one, submitted before.
func (c jobClient) submit(ctx context.Context, argv []string) error {
	body, err := json.Marshal(map[string]any{"submission_id": c.id, "entrypoint": argv})
	if err != nil {
		return err
	}
	resp, err := c.do(ctx, http.MethodPost, "/api/jobs/", bytes.NewReader(body))
	if err != nil {
		if _, known := c.info(ctx); known == nil {
			return nil
		}
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
