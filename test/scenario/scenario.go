package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Scenario is one run and what is expected of it.
type Scenario struct {
	Name    string // of the run
	Backend string
	File    string // the Run file that it is made from
	// KillGym kills the Gym server in the middle of the run, which must then fail as a whole.
	KillGym bool
}

// Result is what became of a scenario. Err says what did not hold.
type Result struct {
	Scenario
	Phase   string // as `tandem status` reports it
	Reason  string
	Seconds float64
	Err     error
}

// Expected is the phase that the scenario must end in.
func (s Scenario) Expected() string {
	if s.KillGym {
		return "Failed"
	}
	return "Succeeded"
}

// All are the scenarios of the demo: each backend once to success and once with a killed Gym server.
func All(examples string) []Scenario {
	var list []Scenario
	for _, backend := range []string{"jobset", "raycluster"} {
		file := examples + "/disagg-" + backend + ".yaml"
		list = append(list,
			Scenario{Name: backend + "-success", Backend: backend, File: file},
			Scenario{Name: backend + "-gymkill", Backend: backend, File: file, KillGym: true})
	}
	return list
}

// Player plays scenarios on one cluster.
type Player struct {
	Tandem  string    // path of the tandem program
	Kubectl string    // path of kubectl
	Env     []string  // environment of both, with KUBECONFIG
	Out     io.Writer // what the programs say
}

// deadline bounds one scenario. Each takes 10 to 20 s on two idle cores.
const deadline = 5 * time.Minute

// Play plays one scenario, and removes the run also when it did not hold.
func (p Player) Play(ctx context.Context, s Scenario) Result {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	start := time.Now()
	result := Result{Scenario: s}
	result.Err = p.play(ctx, s, &result)
	result.Seconds = time.Since(start).Seconds()
	if result.Err == nil {
		return result
	}
	fmt.Fprintf(p.Out, "\n%s did not hold: %v\n", s.Name, result.Err)
	p.describe(context.WithoutCancel(ctx), s)
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if _, err := p.run(clean, "", p.Tandem, "down", s.Name); err != nil {
		result.Err = errors.Join(result.Err, err)
	}
	return result
}

func (p Player) play(ctx context.Context, s Scenario, result *Result) error {
	file, err := s.runFile()
	if err != nil {
		return err
	}
	if err := p.followToEnd(ctx, s, file); err != nil {
		return err
	}
	status, err := p.status(ctx, s.Name)
	if err != nil {
		return err
	}
	result.Phase, result.Reason = status.Phase, status.Reason
	if status.Phase != s.Expected() {
		return fmt.Errorf("`tandem status` reports %s (%s), want %s", status.Phase, status.Reason, s.Expected())
	}
	if err := p.checkEnd(ctx, s, status); err != nil {
		return err
	}
	if err := p.noPodRuns(ctx, s.Name); err != nil {
		return err
	}
	if _, err := p.run(ctx, "", p.Tandem, "down", s.Name); err != nil {
		return err
	}
	return p.nothingLeft(ctx, s.Name)
}

// checkEnd looks at what only this kind of end has: the driver's talk with both clusters, or the reason.
func (p Player) checkEnd(ctx context.Context, s Scenario, status runStatus) error {
	if s.KillGym {
		if !strings.Contains(status.Reason, "gym") {
			return fmt.Errorf("the reason does not name what failed: %q", status.Reason)
		}
		return nil
	}
	logs, err := p.run(ctx, "", p.Kubectl, "logs", "-l", "tandem.dev/group=driver,tandem.dev/run="+s.Name, "-c", "driver", "--tail=-1")
	if err != nil {
		return err
	}
	for _, want := range []string{"grpo: gym http://", ", vllm http://", "step 3/3"} {
		if !strings.Contains(logs, want) {
			return fmt.Errorf("the driver's log has no %q:\n%s", want, logs)
		}
	}
	return nil
}

// followToEnd runs `tandem up --wait`, kills the Gym server on the way where the scenario says so, and checks that
// the exit code tells the run's end.
func (p Player) followToEnd(ctx context.Context, s Scenario, file string) error {
	if !s.KillGym {
		_, err := p.run(ctx, file, p.Tandem, "up", "-f", "-", "--wait")
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := p.run(ctx, file, p.Tandem, "up", "-f", "-", "--wait")
		ended <- err
	}()
	if err := p.killGym(ctx, s, ended); err != nil {
		return err
	}
	select {
	case err := <-ended:
		if code := exitCode(err); code != 1 {
			return fmt.Errorf("`tandem up --wait` of a run that fails must exit 1, not %d: %w", code, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the run did not end after its Gym server was killed: %w", ctx.Err())
	}
}

// runFile is the example under the scenario's name; a driver whose run is to be interrupted takes its time.
func (s Scenario) runFile() (string, error) {
	data, err := os.ReadFile(s.File)
	if err != nil {
		return "", err
	}
	var run map[string]any
	if err := yaml.Unmarshal(data, &run); err != nil {
		return "", fmt.Errorf("%s: %w", s.File, err)
	}
	run["metadata"].(map[string]any)["name"] = s.Name
	if s.KillGym {
		driver := run["spec"].(map[string]any)["driver"].(map[string]any)
		driver["command"] = []string{"grpo", "--steps", "1000", "--step-time", "200ms"}
	}
	out, err := yaml.Marshal(run)
	return string(out), err
}
