package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Client talks to the supervisor of one instance.
type Client struct {
	http *http.Client
}

// NewClient returns a client for the supervisor whose state folder is state. It connects on the first call.
func NewClient(state string) *Client {
	socket := filepath.Join(state, SocketName)
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}}}
}

// Start starts a process and waits until it is ready, has ended (an error with the end of its log), or ctx ends.
func (c *Client) Start(ctx context.Context, spec Spec) error {
	if err := c.do(ctx, http.MethodPost, "/processes", spec, nil); err != nil {
		return err
	}
	return c.awaitReady(ctx, spec)
}

// StartAgain starts a process that has ended once more, as it was, and waits as [Client.Start] does.
func (c *Client) StartAgain(ctx context.Context, name string) error {
	var process Process
	if err := c.do(ctx, http.MethodPost, "/processes/"+url.PathEscape(name), nil, &process); err != nil {
		return err
	}
	return c.awaitReady(ctx, process.Spec)
}

func (c *Client) awaitReady(ctx context.Context, spec Spec) error {
	if spec.Ready == "" {
		return nil
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		last := c.do(ctx, http.MethodGet, "/ready?url="+url.QueryEscape(spec.Ready), nil, nil)
		if last == nil {
			return nil
		}
		if err := c.ended(ctx, spec.Name); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; the end of %s:\n%s", spec.Name, last, spec.Log, Tail(spec.Log, 15))
		}
	}
}

func (c *Client) ended(ctx context.Context, name string) error {
	processes, err := c.List(ctx)
	if err != nil {
		return err
	}
	for _, p := range processes {
		if p.Name == name && !p.Running {
			return fmt.Errorf("%s ended (%s); the end of %s:\n%s", name, p.Exit, p.Log, Tail(p.Log, 15))
		}
	}
	return nil
}

// Stop ends a process with SIGTERM, or with SIGKILL when kill is true, and waits until it has ended.
func (c *Client) Stop(ctx context.Context, name string, kill bool) error {
	path := "/processes/" + url.PathEscape(name)
	if kill {
		path += "?signal=KILL"
	}
	return c.do(ctx, http.MethodDelete, path, nil, nil)
}

// List returns every process that was started, by name.
func (c *Client) List(ctx context.Context) ([]Process, error) {
	var list []Process
	err := c.do(ctx, http.MethodGet, "/processes", nil, &list)
	return list, err
}

// Dropped returns how many packets the rules inside the instance's network namespace dropped.
func (c *Client) Dropped(ctx context.Context) (int, error) {
	var n int
	err := c.do(ctx, http.MethodGet, "/guard", nil, &n)
	return n, err
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://supervisor"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		var f failure
		if err := json.NewDecoder(res.Body).Decode(&f); err != nil {
			return fmt.Errorf("supervisor answers %s", res.Status)
		}
		return errors.New(f.Error)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// Tail returns the last n lines of a file, or why it cannot be read.
func Tail(file string, n int) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
