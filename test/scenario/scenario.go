package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// Scenario is one run and what is expected of it.
type Scenario struct {
	Name    string // of the run
	Backend string
	File    string   // the Run file that it is made from
	Driver  []string // the driver's command; default that of the file
	// Retries is how often a driver that fails is tried again by KubeRay; then it fails for good.
	Retries int32
	// Workers is how many vLLM workers there are; they then ask for no GPUs. Default what the file says.
	Workers int
	// Kill is a process to kill in the middle of the run, which must then fail as a whole.
	Kill *Process
	// Reason is what the reason of the failure must say; a scenario without one must succeed.
	Reason string
}

// Process is one of a run's processes, by the group of pods that it runs in.
type Process struct {
	Cluster, Group, Name string
	// By ends it, as a shell there takes it; default SIGKILL.
	By string
}

// stopJob is what a user does who stops the driver in Ray's dashboard.
const stopJob = "jobs=http://127.0.0.1:8265/api/jobs/; " +
	`id=$(wget -q -O - $jobs | busybox sed 's/.*"submission_id":"\([^"]*\)".*/\1/'); wget -q -O - --post-data= $jobs$id/stop`

// gymServer is what the demo kills, and endless a driver that is still at work then.
var (
	gymServer = &Process{Cluster: "gym", Group: "head", Name: "gym-server"}
	endless   = []string{"grpo", "--steps", "1000", "--step-time", "200ms"}
)

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
	if s.Reason != "" {
		return "Failed"
	}
	return "Succeeded"
}

// Demo are the scenarios of the demo: each backend once to success and once with a killed Gym server.
func Demo(examples string) []Scenario {
	return onBothBackends(examples,
		Scenario{Name: "success"},
		Scenario{Name: "gymkill", Driver: endless, Kill: gymServer, Reason: "gym-server ended with exit code 137"})
}

// Faults are further ways for a run to fail, which the tests play too.
func Faults(examples string) []Scenario {
	return onBothBackends(examples,
		Scenario{Name: "driver", Driver: []string{"grpo", "--steps", "3", "--fail-at-step", "2"}, Reason: "exit code 7"},
		Scenario{
			Name: "vllm", Driver: endless, Kill: &Process{Cluster: "rl", Group: "gpu-workers", Name: "vllm-server"},
			Reason: "vllm-server ended with exit code 137",
		},
		Scenario{
			Name: "head", Driver: endless, Kill: &Process{Cluster: "rl", Group: "head", Name: "ray"},
			Reason: "ray start ended with exit code 137",
		},
		// A worker's Ray is not reported by its pod, and the driver that would notice is at rest: whoever watches the pods must see it.
		Scenario{
			Name: "worker", Driver: []string{"grpo", "--steps", "1000", "--step-time", "10s"},
			Kill: &Process{Cluster: "rl", Group: "gpu-workers", Name: "ray"}, Reason: "exit code 137",
		})
}

// Many is a run of more publishers than share one ConfigMap: their endpoints go through shards and one pod that folds them. It is
// played on one backend only: KubeRay's own init container asks for 200m CPU in each worker, and two cores have no room for 20.
func Many(examples string) []Scenario {
	return []Scenario{{
		Name: "jobset-many", Backend: "jobset", File: examples + "/disagg-jobset.yaml",
		Workers: 20, Driver: []string{"grpo", "--steps", "3", "--vllms", "20"},
	}}
}

// RayJobs are what may become of a run of a RayJob, whose driver KubeRay submits: no pod has its log, so it checks itself that it got its
// variable and found both clusters.
func RayJobs(examples string) []Scenario {
	checks := []string{"sh", "-c", `test "$WANDB_NAME" = "$0, first try" && exec grpo --steps 3`, "$(TANDEM_RUN)"}
	return on("rayjob", examples,
		Scenario{Name: "success", Driver: checks},
		Scenario{Name: "driver", Driver: []string{"grpo", "--steps", "3", "--fail-at-step", "2"}, Reason: "the driver ended with exit code 7"},
		// A retry is another cluster, which must not look to the Gym's side as if the driver's had died.
		Scenario{Name: "retry", Driver: []string{"grpo", "--steps", "3", "--fail-at-step", "2"}, Retries: 1, Reason: "the driver ended with exit code 7"},
		Scenario{
			Name: "stopped", Driver: endless, Kill: &Process{Cluster: "rl", Group: "head", Name: "the driver", By: stopJob},
			Reason: "the driver was stopped",
		},
		Scenario{Name: "gymkill", Driver: endless, Kill: gymServer, Reason: "gym-server ended with exit code 137"},
		Scenario{
			Name: "vllm", Driver: endless, Kill: &Process{Cluster: "rl", Group: "gpu-workers", Name: "vllm-server"},
			Reason: "vllm-server ended with exit code 137",
		},
		Scenario{
			Name: "head", Driver: endless, Kill: &Process{Cluster: "rl", Group: "head", Name: "ray"},
			Reason: "ray start ended with exit code 137",
		},
		Scenario{
			Name: "gymhead", Driver: endless, Kill: &Process{Cluster: "gym", Group: "head", Name: "ray"},
			Reason: "ray start ended with exit code 137",
		})
}

// onBothBackends makes each scenario one of the JobSet example and one of the RayCluster example.
func onBothBackends(examples string, scenarios ...Scenario) []Scenario {
	return append(on("jobset", examples, scenarios...), on("raycluster", examples, scenarios...)...)
}

// on makes each scenario one of the example of a backend.
func on(backend, examples string, scenarios ...Scenario) []Scenario {
	var list []Scenario
	for _, s := range scenarios {
		s.Name, s.Backend, s.File = backend+"-"+s.Name, backend, examples+"/disagg-"+backend+".yaml"
		list = append(list, s)
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
	file, err := s.RunFile()
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

// checkEnd looks at what only this kind of end has: that the driver got its variable and talked with both clusters, or the reason.
func (p Player) checkEnd(ctx context.Context, s Scenario, status runStatus) error {
	if s.Reason != "" {
		if !strings.Contains(status.Reason, s.Reason) {
			return fmt.Errorf("the reason is %q, and does not say %q", status.Reason, s.Reason)
		}
		return p.checkTries(ctx, s)
	}
	if !v1alpha1.Backend(s.Backend).DriverHasPod() {
		return nil
	}
	logs, err := p.run(ctx, "", p.Kubectl, "logs", "-l", "tandem.dev/group=driver,tandem.dev/run="+s.Name, "-c", "driver", "--tail=-1")
	if err != nil {
		return err
	}
	for _, want := range []string{fmt.Sprintf("grpo: logging as %q", s.Name+", first try"), "grpo: gym http://", ", vllm http://", "step 3/3"} {
		if !strings.Contains(logs, want) {
			return fmt.Errorf("the driver's log has no %q:\n%s", want, logs)
		}
	}
	return nil
}

// checkTries asks KubeRay how often the driver of a RayJob has failed.
func (p Player) checkTries(ctx context.Context, s Scenario) error {
	if s.Retries == 0 {
		return nil
	}
	failed, err := p.quiet(ctx, p.Kubectl, "get", "rayjob", s.Name, "-o", "jsonpath={.status.failed}")
	if err != nil {
		return err
	}
	if want := fmt.Sprint(s.Retries + 1); failed != want {
		return fmt.Errorf("the driver has failed %s times, and was to be tried %s times", failed, want)
	}
	return nil
}

// followToEnd runs `tandem up --wait`, kills a process on the way where the scenario says so, and checks that the
// exit code tells the run's end.
func (p Player) followToEnd(ctx context.Context, s Scenario, file string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := p.run(ctx, file, p.Tandem, "up", "-f", "-", "--wait")
		ended <- err
	}()
	if s.Kill != nil {
		if err := p.kill(ctx, s, ended); err != nil {
			return err
		}
	}
	select {
	case err := <-ended:
		want := 0
		if s.Reason != "" {
			want = 1
		}
		if code := exitCode(err); code != want {
			return fmt.Errorf("`tandem up --wait` must exit %d, not %d: %w", want, code, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the run did not end: %w", ctx.Err())
	}
}

// RunFile is the example under the scenario's name, with its driver and its workers.
func (s Scenario) RunFile() (string, error) {
	data, err := os.ReadFile(s.File)
	if err != nil {
		return "", err
	}
	run, err := v1alpha1.Decode(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.File, err)
	}
	run.Metadata.Name, run.Spec.Driver.Retries = s.Name, s.Retries
	if s.Driver != nil {
		run.Spec.Driver.Command = s.Driver
	}
	if s.Workers > 0 {
		workers := &run.Spec.Clusters[0].Workers[0]
		workers.Replicas, workers.GPUs = ptr.To(int32(s.Workers)), 0
	}
	out, err := yaml.Marshal(run)
	return string(out), err
}
