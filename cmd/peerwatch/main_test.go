package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tandem-rl/tandem/peerwatch"
	"github.com/tandem-rl/tandem/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestFlags(t *testing.T) {
	cfg, err := parse([]string{
		"--run", "a", "--namespace", "train", "--self", "raycluster/a-rl", "--peer", "raycluster/a-gym", "--peer", "a-gen", "--peer", "pods/app=x,role=y",
		"--driver", "rayjob/a-driver", "--startup-grace", "10m", "--unready-grace", "1m",
		"--policy", "signal", "--suspended", "fail", "--listen", "",
		"--max-restarts", "5", "--restart-backoff", "1s..1m", "--shards", "4",
	}, environment(map[string]string{"POD_NAME": "a-rl-head", "POD_UID": "uid"}), &bytes.Buffer{})
	require.NoError(t, err)
	policy := peerwatch.DefaultPolicy()
	policy.StartupGrace, policy.UnreadyGrace = 10*time.Minute, time.Minute
	policy.OnFailure, policy.OnSuspend = peerwatch.FailureSignal, peerwatch.SuspendFail
	policy.MaxRestarts, policy.RestartBackoff, policy.RestartBackoffMax = 5, time.Second, time.Minute
	require.Equal(t, options{Config: peerwatch.Config{
		Run: "a", Namespace: "train", Prefix: registry.DefaultPrefix, Self: raycluster("a-rl"), Peers: []peerwatch.Ref{raycluster("a-gym"), raycluster("a-gen"), {Kind: peerwatch.Pods, Name: "app=x,role=y"}},
		Driver: peerwatch.Ref{Kind: peerwatch.RayJob, Name: "a-driver"},
		Pod:    registry.Publisher{Pod: "a-rl-head", UID: "uid"}, Policy: policy, Shards: 4,
	}}, cfg)
}

func TestEnvironmentOfTheInlineWatcher(t *testing.T) {
	env := map[string]string{"SELF_CLUSTER_NAME": "rl", "PEER_CLUSTER_NAME": "gym", "JOB_ID": "a", "POLL_INTERVAL": "5", "MAX_PEER_FAILURES": "4"}
	cfg, err := parse([]string{"--namespace", "train"}, environment(env), &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, raycluster("rl"), cfg.Self)
	require.Equal(t, []peerwatch.Ref{raycluster("gym")}, cfg.Peers)
	require.Equal(t, "a", cfg.Run)
	require.Equal(t, 20*time.Second, cfg.Policy.UnreadyGrace)

	cfg, err = parse([]string{"--peer", "raycluster/other", "--unready-grace", "1h"}, environment(env), &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, []peerwatch.Ref{raycluster("other")}, cfg.Peers, "flags win")
	require.Equal(t, time.Hour, cfg.Policy.UnreadyGrace)
}

func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		env  map[string]string
		want string
	}{
		{"a kind without a name", []string{"--self", "rayjob/"}, nil, "want KIND/NAME"},
		{"a kind that is not watched", []string{"--peer", "service/gym"}, nil, "KIND is one of raycluster, rayjob, jobset, job, statefulset, deployment, pods"},
		{"a back-off that is no range", []string{"--restart-backoff", "10s"}, nil, "want FIRST..MAX"},
		{"an argument", []string{"gym"}, nil, `unexpected argument "gym"`},
		{"an address that other pods reach", []string{"--listen", "0.0.0.0:9441"}, nil, "only a loopback address"},
		{"a bad interval", nil, map[string]string{"POLL_INTERVAL": "10s"}, "POLL_INTERVAL"},
		{"an interval that overflows to a third of a second", nil, map[string]string{"POLL_INTERVAL": "18446744074", "MAX_PEER_FAILURES": "1"}, "POLL_INTERVAL 18446744074"},
		{"two negatives", nil, map[string]string{"POLL_INTERVAL": "-10", "MAX_PEER_FAILURES": "-3"}, "POLL_INTERVAL -10"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := run(t.Context(), tc.args, environment(tc.env), &stderr)
			require.Equal(t, exitUsage, code)
			require.Contains(t, stderr.String(), tc.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "said once: %s", &stderr)
		})
	}
	var stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"-h"}, environment(nil), &stderr))
	require.Contains(t, stderr.String(), "unready-grace")
}

// TestThePageNamesEveryFlagAndVariable holds docs/peerwatch.md against the command line.
func TestThePageNamesEveryFlagAndVariable(t *testing.T) {
	page, err := os.ReadFile("../../docs/peerwatch.md")
	require.NoError(t, err)
	var usage bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"-h"}, environment(nil), &usage))
	flags := regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(usage.String(), -1)
	require.NotEmpty(t, flags)
	for _, match := range flags {
		require.Contains(t, string(page), "| `--"+match[1]+"` |")
	}
	for _, variable := range []string{"SELF_CLUSTER_NAME", "PEER_CLUSTER_NAME", "JOB_ID", "POLL_INTERVAL", "MAX_PEER_FAILURES"} {
		require.Contains(t, string(page), "`"+variable+"`")
	}
	for _, code := range []int{exitOK, exitFailed, exitUsage, exitCascaded} {
		require.Contains(t, string(page), fmt.Sprintf("\n| %d | ", code))
	}
	for _, family := range families {
		require.Contains(t, string(page), "| `"+family.Name)
	}
}
