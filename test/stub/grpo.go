package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// exitAtStep is what --fail-at-step exits with.
const exitAtStep = 7

// trainer plays the driver: it finds the endpoints, and asks every one of them at every step.
type trainer struct {
	registry string
	wait     time.Duration
	steps    int
	failAt   int
	stepTime time.Duration
	vllms    int // how many vLLM servers to wait for
	out      io.Writer
}

func grpo(ctx context.Context, args []string, out io.Writer) int {
	t, err := newTrainer(parseFlags(args), out)
	if err != nil {
		return complain("grpo: %v", err)
	}
	code, err := t.train(ctx)
	if err != nil {
		return complain("grpo: %v", err)
	}
	return code
}

func newTrainer(f flags, out io.Writer) (trainer, error) {
	t := trainer{registry: strings.TrimRight(os.Getenv("TANDEM_REGISTRY"), "/"), out: out}
	if t.registry == "" {
		return t, fmt.Errorf("TANDEM_REGISTRY is not set: no registry sidecar in this pod")
	}
	var err error
	number := func(name, otherwise string) (n int) {
		if err == nil {
			n, err = strconv.Atoi(f.get(name, otherwise))
		}
		return n
	}
	t.steps, t.failAt, t.vllms = number("steps", "3"), number("fail-at-step", "0"), number("vllms", "1")
	if err != nil {
		return t, err
	}
	if t.wait, err = time.ParseDuration(f.get("wait", "10m")); err != nil {
		return t, err
	}
	t.stepTime, err = f.duration("step-time")
	return t, err
}

func (t trainer) train(ctx context.Context) (code int, err error) {
	if name := os.Getenv("WANDB_NAME"); name != "" {
		fmt.Fprintf(t.out, "grpo: logging as %q\n", name)
	}
	gym, err := t.endpoint(ctx, "gym_head_server")
	if err != nil {
		return 0, err
	}
	vllms, err := t.servers(ctx)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(t.out, "grpo: gym %s, vllm %s\n", gym, strings.Join(vllms, " "))
	for step := 1; step <= t.steps; step++ {
		if step == t.failAt {
			fmt.Fprintf(t.out, "step %d/%d: failing as told\n", step, t.steps)
			return exitAtStep, nil
		}
		if err := t.step(ctx, gym, vllms); err != nil {
			return 0, fmt.Errorf("step %d/%d: %w", step, t.steps, err)
		}
		fmt.Fprintf(t.out, "step %d/%d: %d completions, 1 rollout\n", step, t.steps, len(vllms))
		if err := pause(ctx, t.stepTime); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func (t trainer) step(ctx context.Context, gym string, vllms []string) error {
	for _, base := range vllms {
		if err := ask(ctx, http.MethodPost, base+"/completions", map[string]any{"model": "stub", "prompt": "2+2="}, nil); err != nil {
			return err
		}
	}
	return ask(ctx, http.MethodPost, strings.TrimRight(gym, "/")+"/rollout", map[string]any{}, nil)
}

// servers waits until as many vLLM servers as asked for have joined.
func (t trainer) servers(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.wait)
	defer cancel()
	for {
		value, err := t.endpoint(ctx, "vllm_base_urls")
		if err != nil {
			return nil, err
		}
		var list []string
		if err := json.Unmarshal([]byte(value), &list); err != nil {
			return nil, fmt.Errorf("vllm_base_urls: %w", err)
		}
		if len(list) >= t.vllms {
			return list, nil
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return nil, fmt.Errorf("%d of %d vLLM servers have joined within %s", len(list), t.vllms, t.wait)
		}
	}
}

// sidecarWithin is how long the sidecar may take to listen: the kubelet starts a sidecar first, and does not wait.
const sidecarWithin = 30 * time.Second

func (t trainer) endpoint(ctx context.Context, key string) (string, error) {
	var answer struct {
		Value string `json:"value"`
	}
	at := fmt.Sprintf("%s/v1/endpoints/%s?wait=%s", t.registry, url.PathEscape(key), t.wait)
	for began := time.Now(); ; {
		err := ask(ctx, http.MethodGet, at, nil, &answer)
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Since(began) > sidecarWithin {
			return answer.Value, err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// ask sends JSON and reads JSON; any answer but 200 is an error.
func ask(ctx context.Context, method, at string, request, answer any) error {
	var body io.Reader
	if request != nil {
		raw, err := json.Marshal(request)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, at, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, at, err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %s: %s", method, at, resp.Status, bytes.TrimSpace(raw))
	case answer == nil:
		return nil
	}
	return json.Unmarshal(raw, answer)
}
