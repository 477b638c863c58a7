package scenario

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// kinds are all that a run may be made of.
const kinds = "jobsets,rayjobs,rayclusters,jobs,pods,services,configmaps,serviceaccounts,roles,rolebindings"

// runStatus is the part of `tandem status -o json` that is looked at.
type runStatus struct {
	Phase     string            `json:"phase"`
	Reason    string            `json:"reason"`
	Endpoints map[string]string `json:"endpoints"`
}

func (p Player) status(ctx context.Context, name string) (runStatus, error) {
	var s runStatus
	out, err := p.quiet(ctx, p.Tandem, "status", name, "-o", "json")
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return s, fmt.Errorf("`tandem status -o json` prints %q: %w", out, err)
	}
	return s, nil
}

// kill waits until both endpoints are exchanged and the driver works, then kills a process as the kernel does when memory
// runs out: with SIGKILL, which it cannot answer.
func (p Player) kill(ctx context.Context, s Scenario, ended <-chan error) error {
	err := eventually(ctx, "both endpoints are published and the driver runs", func() error {
		select {
		case err := <-ended:
			return stop{fmt.Errorf("the run ended before %s could be killed: %w", s.Kill.Name, err)}
		default:
		}
		status, err := p.status(ctx, s.Name)
		if err != nil {
			return err
		}
		if status.Phase != "Running" || status.Endpoints["gym_head_server"] == "" || status.Endpoints["vllm_base_urls"] == "" {
			return fmt.Errorf("the run is %s, its endpoints are %v", status.Phase, status.Endpoints)
		}
		return nil
	})
	if err != nil {
		return err
	}
	pod, err := p.quiet(ctx, p.Kubectl, "get", "pods", "-o", "name", "-l",
		fmt.Sprintf("tandem.dev/run=%s,tandem.dev/cluster=%s,tandem.dev/group=%s", s.Name, s.Kill.Cluster, s.Kill.Group))
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "killing %s in %s", s.Kill.Name, pod)
	by := cmp.Or(s.Kill.By, "kill -9 $(pidof "+s.Kill.Name+")")
	_, err = p.quiet(ctx, p.Kubectl, "exec", strings.TrimSpace(pod), "-c", "ray", "--", "sh", "-c", by)
	return err
}

// CheckCluster asks once whether the cluster can be reached and knows the kinds of the runs.
func (p Player) CheckCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := p.quiet(ctx, p.Kubectl, "get", "crd", "-o", "name", "jobsets.jobset.x-k8s.io", "rayclusters.ray.io", "rayjobs.ray.io")
	if err != nil {
		return fmt.Errorf("the cluster cannot be used: the JobSet controller 0.11 and the KubeRay operator 1.6 must be in it: %w", err)
	}
	return nil
}

// noPodRuns waits until no pod of the run holds anything.
func (p Player) noPodRuns(ctx context.Context, name string) error {
	return eventually(ctx, "no pod of the run is left running", func() error {
		out, err := p.quiet(ctx, p.Kubectl, "get", "pods", "-l", "tandem.dev/run="+name,
			"--field-selector=status.phase!=Succeeded,status.phase!=Failed", "-o", "name")
		if err != nil {
			return err
		}
		if out != "" {
			return fmt.Errorf("still there: %s", strings.Join(strings.Fields(out), " "))
		}
		return nil
	})
}

// nothingLeft looks for objects of the run after `tandem down`.
func (p Player) nothingLeft(ctx context.Context, name string) error {
	out, err := p.quiet(ctx, p.Kubectl, "get", kinds, "-l", "tandem.dev/run="+name, "-o", "name")
	if err != nil {
		return err
	}
	if out != "" {
		return fmt.Errorf("`tandem down` left %s", strings.Join(strings.Fields(out), " "))
	}
	return nil
}

// describe prints what helps to find out why a scenario did not hold.
func (p Player) describe(ctx context.Context, s Scenario) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	label := "tandem.dev/run=" + s.Name
	for _, args := range [][]string{
		{"get", kinds, "-l", label, "-o", "wide"},
		{"get", "configmaps", "-l", label, "-o", "yaml"},
		{"describe", "pods", "-l", label},
		{"logs", "-l", label, "--all-containers", "--prefix", "--tail=30", "--max-log-requests=50"},
	} {
		if _, err := p.run(ctx, "", p.Kubectl, args...); err != nil {
			fmt.Fprintln(p.Out, err)
		}
	}
}

// stop is an error that waiting does not mend.
type stop struct{ error }

// eventually asks until what holds or ctx ends.
func eventually(ctx context.Context, what string, ask func() error) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if final := (stop{}); errors.As(err, &final) {
			return final.error
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
		}
	}
}

// run runs a program, shows what it prints, and returns its stdout.
func (p Player) run(ctx context.Context, stdin, program string, args ...string) (string, error) {
	fmt.Fprintf(p.Out, "$ %s %s\n", base(program), strings.Join(args, " "))
	return p.exec(ctx, stdin, indent{p.Out}, program, args...)
}

// quiet runs a program and returns its stdout.
func (p Player) quiet(ctx context.Context, program string, args ...string) (string, error) {
	return p.exec(ctx, "", io.Discard, program, args...)
}

func (p Player) exec(ctx context.Context, stdin string, show io.Writer, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env = p.Env
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout = io.MultiWriter(&stdout, show)
	cmd.Stderr = io.MultiWriter(&stderr, show)
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", base(program), strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

func base(program string) string { return program[strings.LastIndex(program, "/")+1:] }

// exitCode is 0 for no error, and -1 for one that is no exit.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		return -1
	}
}

// indent writes each line two blanks to the right.
type indent struct{ out io.Writer }

func (w indent) Write(data []byte) (int, error) {
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Fprint(w.out, "  ", line); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}
