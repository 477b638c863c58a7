package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tandem-rl/tandem/internal/kubeclient"
	"github.com/tandem-rl/tandem/registry"
)

// remote asks a sidecar. It tries again until ctx ends when nobody listens: the sidecar may still be starting.
type remote struct {
	base string
	http *http.Client
}

// newRemote takes http://HOST:PORT or unix:PATH.
func newRemote(address string) (*remote, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if path, isUnix := strings.CutPrefix(address, unixPrefix); isUnix {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return &remote{"http://sidecar", &http.Client{Transport: transport}}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return nil, usageError{fmt.Errorf("--sidecar %q: want http://HOST:PORT or unix:PATH", address)}
	}
	return &remote{strings.TrimRight(address, "/"), &http.Client{Transport: transport}}, nil
}

func keyPath(key string) string { return "/v1/endpoints/" + url.PathEscape(key) }

func (r *remote) Set(ctx context.Context, key, value string) error {
	return r.ask(ctx, http.MethodPut, keyPath(key), value, nil)
}

func (r *remote) Join(ctx context.Context, key, member string) error {
	return r.ask(ctx, http.MethodPost, keyPath(key)+"/members", member, nil)
}

func (r *remote) Leave(ctx context.Context, key, member string) error {
	return r.ask(ctx, http.MethodDelete, keyPath(key)+"/members", member, nil)
}

func (r *remote) Delete(ctx context.Context, key string) error {
	return r.ask(ctx, http.MethodDelete, keyPath(key), "", nil)
}

func (r *remote) Fail(ctx context.Context, message string) error {
	return r.ask(ctx, http.MethodPost, "/v1/fail", message, nil)
}

func (r *remote) GetNow(ctx context.Context, key string) (string, error) {
	var answer keyValue
	err := r.ask(ctx, http.MethodGet, keyPath(key), "", &answer)
	return answer.Value, err
}

func (r *remote) List(ctx context.Context) ([]registry.Endpoint, error) {
	var answer struct{ Endpoints []registry.Endpoint }
	err := r.ask(ctx, http.MethodGet, "/v1/endpoints", "", &answer)
	return answer.Endpoints, err
}

// oneWait is how long one request waits. The next goes on waiting.
const oneWait = 5 * time.Minute

func (r *remote) Get(ctx context.Context, key string) (string, error) {
	for {
		wait := oneWait
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, max(time.Until(deadline), time.Millisecond))
		}
		var answer keyValue
		err := r.ask(ctx, http.MethodGet, keyPath(key)+"?wait="+wait.String(), "", &answer)
		if !errors.Is(err, errTimedOut) || wait < oneWait {
			return answer.Value, err
		}
	}
}

// Watch yields what the sidecar streams. The sidecar outlives everything else of its pod, so the end of the stream is
// an error.
func (r *remote) Watch(ctx context.Context, keys ...string) iter.Seq2[[]registry.Endpoint, error] {
	return func(yield func([]registry.Endpoint, error) bool) {
		resp, err := r.send(ctx, http.MethodGet, "/v1/watch?"+url.Values{"key": keys}.Encode(), "")
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		if err := readEvents(resp.Body, func(list []registry.Endpoint) bool { return yield(list, nil) }); err != nil {
			yield(nil, fmt.Errorf("watch: %w", err))
		}
	}
}

// readEvents reads a stream until yield has had enough.
func readEvents(stream io.Reader, yield func([]registry.Endpoint) bool) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 4*maxBody)
	event := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
		case event == eventError:
			return decodeProblem([]byte(data))
		default:
			var answer struct{ Endpoints []registry.Endpoint }
			if err := json.Unmarshal([]byte(data), &answer); err != nil {
				return err
			}
			if !yield(answer.Endpoints) {
				return nil
			}
		}
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}

func (r *remote) ask(ctx context.Context, method, path, body string, into any) error {
	resp, err := r.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// send returns an answer that is 200.
func (r *remote) send(ctx context.Context, method, path, body string) (*http.Response, error) {
	var retry kubeclient.Backoff
	for {
		req, err := http.NewRequestWithContext(ctx, method, r.base+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		resp, err := r.http.Do(req)
		if err == nil {
			return accept(resp)
		}
		if dial := new(net.OpError); !errors.As(err, &dial) || dial.Op != "dial" {
			return nil, err
		}
		if ended := retry.Wait(ctx, nil); ended != nil {
			return nil, fmt.Errorf("%w; last try: %w", ended, err)
		}
	}
}

func accept(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, err
	}
	return nil, decodeProblem(raw)
}

func decodeProblem(raw []byte) error {
	var p problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Code == "" {
		return fmt.Errorf("%w: the sidecar answers %.200q", errAway, raw)
	}
	return p.asError()
}
