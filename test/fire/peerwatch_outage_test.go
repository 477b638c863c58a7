package fire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/test/fakeray"
)

// TestPeerwatchWithoutAnAPIServerForAMinuteTakesDownWhatFailedAndNothingElse runs beside no other test: it takes the API
// server away from everybody. One run is whole and in pods, with KubeRay and a kubelet.
func TestPeerwatchWithoutAnAPIServerForAMinuteTakesDownWhatFailedAndNothingElse(t *testing.T) {
	well := newCast(t, admin, fakeray.Script{Name: "outage-well", Clusters: 2})
	ill := newCast(t, admin, fakeray.Script{Name: "outage-ill", Clusters: 2, UnreadyGrace: 20 * time.Second})
	absent := newCrew(t, admin, fakeray.Script{Name: "outage-absent", Clusters: 2, Late: []int{1}, StartupGrace: 20 * time.Second})
	real := newRealRun(t, well.ctx)
	absent.start(t, 0)
	require.NoError(t, absent.watchers[0].Ready(absent.ctx))
	require.NoError(t, ill.UnreadyHead(ill.ctx, 1)) // its grace and that of the absent peer end in the outage

	outage := &scene{ctx: well.ctx}
	start := outage.end(t, cluster.KillProcess, "kube-apiserver")
	outage.pause(t, time.Minute)
	well.requireBlind(t)
	ill.requireBlind(t)
	require.False(t, absent.watchers[0].Ended(), "an absence that cannot be seen is none")
	start()
	back := time.Now()

	ill.requireDown(t, "unready")
	ill.requireCascaded(t, 0, 1)
	absent.requireDown(t, "has not appeared")
	well.requireUnharmed(t)
	t.Logf("what had failed was down %s after the API server was back", time.Since(back).Round(time.Millisecond))
	well.requireItStillBites(t)
	real.requireItStillBites(t)
}

// realRun is a run of `tandem up`, in pods.
type realRun struct {
	ctx  context.Context
	name string
}

// newRealRun returns when the driver works with both clusters.
func newRealRun(t *testing.T, ctx context.Context) *realRun {
	t.Helper()
	r := &realRun{ctx: ctx, name: "peerwatch-pods"}
	data, err := os.ReadFile("../../examples/disagg-raycluster.yaml")
	require.NoError(t, err)
	run, err := v1alpha1.Decode(data)
	require.NoError(t, err)
	run.Metadata.Name = r.name
	run.Spec.Driver.Command = []string{"grpo", "--steps", "1000", "--step-time", "1s"}
	file, err := yaml.Marshal(run)
	require.NoError(t, err)
	_, err = r.tandem(file, "up", "-f", "-")
	require.NoError(t, err)
	t.Cleanup(func() {
		// Not by `tandem down`, which waits for Kubernetes' garbage collector: after an outage that takes a minute.
		r.ctx = context.WithoutCancel(ctx)
		_, err := r.kubectl("delete", "rayclusters,jobs,configmaps", "-l", v1alpha1.LabelRun+"="+r.name, "--wait=false")
		require.NoError(t, err)
	})
	r.until(t, func(s status) bool {
		return s.Phase == "Running" && s.Endpoints["gym_head_server"] != "" && s.Endpoints["vllm_base_urls"] != ""
	})
	return r
}

// status is the part of `tandem status -o json` that is looked at.
type status struct {
	Phase     string            `json:"phase"`
	Reason    string            `json:"reason"`
	Endpoints map[string]string `json:"endpoints"`
}

func (r *realRun) until(t *testing.T, holds func(status) bool) {
	t.Helper()
	var last status
	var asked error
	s := &scene{ctx: r.ctx}
	defer func() {
		if t.Failed() {
			t.Logf("run %s: %+v: %v", r.name, last, asked)
		}
	}()
	s.until(t, "run "+r.name, func() bool {
		var out string
		if out, asked = r.tandem(nil, "status", r.name, "-o", "json"); asked != nil {
			return false
		}
		last = status{}
		asked = json.Unmarshal([]byte(out), &last)
		return asked == nil && holds(last)
	})
}

// requireItStillBites: the run is as it was, and is taken down by its own pods when the Gym server is killed.
func (r *realRun) requireItStillBites(t *testing.T) {
	t.Helper()
	r.until(t, func(s status) bool { return s.Phase == "Running" && s.Reason == "" })
	killed := time.Now()
	_, err := r.kubectl("exec", r.head(t, "gym"), "-c", "ray", "--", "sh", "-c", "kill -9 $(pidof gym-server)")
	require.NoError(t, err)
	r.until(t, func(s status) bool {
		return s.Phase == "Failed" && strings.Contains(s.Reason, "gym-server ended")
	})
	s := &scene{ctx: r.ctx}
	s.until(t, "no RayCluster is left", func() bool {
		out, err := r.kubectl("get", "rayclusters", "-l", v1alpha1.LabelRun+"="+r.name, "-o", "name")
		return err == nil && out == ""
	})
	t.Logf("a run in pods was down %s after a process of it was killed", time.Since(killed).Round(time.Millisecond))
}

func (r *realRun) head(t *testing.T, cluster string) string {
	t.Helper()
	out, err := r.kubectl("get", "pods", "-o", "name", "-l",
		fmt.Sprintf("%s=%s,%s=%s,%s=head", v1alpha1.LabelRun, r.name, v1alpha1.LabelCluster, cluster, v1alpha1.LabelGroup))
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return strings.TrimSpace(out)
}

func (r *realRun) tandem(stdin []byte, args ...string) (string, error) {
	return r.exec(stdin, filepath.Join(os.Getenv("TANDEM_BIN"), "tandem"), args...)
}

func (r *realRun) kubectl(args ...string) (string, error) {
	return r.exec(nil, cluster.Kubectl, args...)
}

func (r *realRun) exec(stdin []byte, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = cluster.Env, bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
