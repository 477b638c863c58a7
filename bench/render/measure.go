package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/manifests"
)

// size is a run with so many worker groups of so many pods each.
type size struct{ Groups, Pods int }

func (s size) String() string { return fmt.Sprintf("%dx%d", s.Groups, s.Pods) }

// cases hold the goal, the growth with the groups, and the growth with the pods.
var cases = []size{{25, 100}, {50, 100}, goal, {200, 100}, {100, 1}, {100, 1000}}

// goal is 10,000 pods in 100 groups.
var goal = size{100, 100}

// sample is one process.
type sample struct {
	Milliseconds float64 `json:"ms"`
	PeakMiB      float64 `json:"peakMiB"`
	Bytes        int     `json:"bytes"`
}

// measureHere renders once and prints a sample.
func measureHere(name string, stdout io.Writer) error {
	var s size
	if _, err := fmt.Sscanf(name, "%dx%d", &s.Groups, &s.Pods); err != nil {
		return fmt.Errorf("--case %q: want GROUPSxPODS: %w", name, err)
	}
	file := []byte(s.runFile())
	start := time.Now()
	run, err := v1alpha1.Load(file)
	if err != nil {
		return err
	}
	objects, err := manifests.Render(run)
	if err != nil {
		return err
	}
	counter := &counter{}
	if err := manifests.WriteYAML(counter, objects); err != nil {
		return err
	}
	took := time.Since(start)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return fmt.Errorf("reading the peak of memory: %w", err)
	}
	return json.NewEncoder(stdout).Encode(sample{
		Milliseconds: float64(took.Microseconds()) / 1000, PeakMiB: float64(usage.Maxrss) / 1024, Bytes: counter.n,
	})
}

// counter takes the place of a pipe.
type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// runFile has two clusters that share the groups, under KAI with one gang over both: the largest objects that a run can have.
func (s size) runFile() string {
	var b strings.Builder
	b.WriteString(`apiVersion: tandem.dev/v1alpha1
kind: Run
metadata: {name: bench, namespace: post-train}
spec:
  backend: raycluster
  image: registry.example/trainer:1
  scheduling: {scheduler: kai, queue: rl-team, topology: {name: dc, required: topology.example/rack}}
  env:
  - {name: NCCL_DEBUG, value: WARN}
  volumes:
  - {name: workspace, persistentVolumeClaim: {claimName: rl-workspace}, mounts: [{path: /mnt/rl-workspace}]}
  podTemplate: {spec: {containers: [{name: ray, securityContext: {capabilities: {add: [IPC_LOCK]}}}]}}
  driver: {cluster: rl, command: [python, train.py]}
  clusters:
`)
	for i, cluster := range []string{"rl", "gym"} {
		fmt.Fprintf(&b, "  - name: %s\n    head: {resources: {cpu: \"4\", memory: 16Gi}}\n    workers:\n", cluster)
		for g := i; g < s.Groups; g += 2 {
			fmt.Fprintf(&b, "    - {name: group-%d, replicas: %d, gpus: 8, resources: {cpu: \"120\", memory: 850Gi}}\n", g, s.Pods)
		}
	}
	return b.String()
}

// result is the median of a case.
type result struct {
	size
	sample
}

func measure(ctx context.Context, s size, rounds int) (result, error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	var times, peaks []float64
	out := result{size: s}
	for range rounds {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, self, "--case", s.String())
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			return result{}, fmt.Errorf("rendering %s: %w: %s", s, err, &stderr)
		}
		var one sample
		if err := json.Unmarshal(stdout.Bytes(), &one); err != nil {
			return result{}, fmt.Errorf("reading the sample of %s: %w", s, err)
		}
		times, peaks, out.Bytes = append(times, one.Milliseconds), append(peaks, one.PeakMiB), one.Bytes
	}
	out.Milliseconds, out.PeakMiB = median(times), median(peaks)
	return out, nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
