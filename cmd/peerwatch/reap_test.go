package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/tandem-rl/tandem/peerwatch/reap"
)

func TestReapFlags(t *testing.T) {
	cfg, err := parseReap([]string{
		"--namespace", "train", "--selector", "a=b", "--selector", "c", "--book", "memory", "--stuck-after", "1m", "--recent-within", "2m",
		"--report-after", "3m", "--causes", "NetworkNotReady,FailedMount", "--node-budget", "1/1h", "--gang-budget", "2/1h,3/2h",
		"--total-budget", "4/1h", "--exclude", "taint", "--dry-run", "--listen", "",
	}, environment(map[string]string{"POD_NAME": "reap-1"}), &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, reapOptions{Config: reap.Config{
		Namespace: "train", Selectors: []string{"a=b", "c"}, Book: "memory", DryRun: true, Instance: "reap-1",
		Policy: reap.Policy{
			StuckAfter: time.Minute, RecentWithin: 2 * time.Minute, ReportAfter: 3 * time.Minute, Causes: []string{"NetworkNotReady", "FailedMount"},
			NodeBudget: reap.Budget{{Count: 1, Window: time.Hour}}, GangBudget: reap.Budget{{Count: 2, Window: time.Hour}, {Count: 3, Window: 2 * time.Hour}},
			TotalBudget: reap.Budget{{Count: 4, Window: time.Hour}}, Exclude: reap.ExcludeTaint,
		},
	}}, cfg)
	cfg, err = parseReap(nil, environment(map[string]string{"TANDEM_NAMESPACE": "train"}), &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, reapOptions{listen: defaultReapListen, Config: reap.Config{
		Namespace: "train", Book: reap.DefaultBook, Policy: reap.DefaultPolicy(),
	}}, cfg)
}

func TestReapUsage(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"an argument", []string{"reap", "pods"}, `unexpected argument "pods"`},
		{"a bad budget", []string{"reap", "--node-budget", "3"}, "want COUNT/WINDOW, as 3/1h"},
		{"a flag of the watcher", []string{"reap", "--self", "raycluster/a"}, "flag provided but not defined: -self"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), tc.args, environment(nil), &stderr))
			require.Contains(t, stderr.String(), tc.want)
		})
	}
	var stderr bytes.Buffer
	cfg := reapOptions{Config: reap.Config{Selectors: []string{""}, Policy: reap.DefaultPolicy()}}
	require.Equal(t, exitUsage, lookAfter(t.Context(), cfg, &rest.Config{}, &stderr))
	require.Contains(t, stderr.String(), "namespace: not given")
	require.Contains(t, stderr.String(), "selects every pod of the namespace")
}

func TestReapEndsWhenItsPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	var stderr bytes.Buffer
	cfg := reapOptions{listen: taken.Addr().String(), Config: reap.Config{Namespace: "train", Policy: reap.DefaultPolicy()}}
	require.Equal(t, exitFailed, lookAfter(t.Context(), cfg, &rest.Config{}, &stderr))
	require.Contains(t, stderr.String(), "error: --listen: ")
}

func askReap(s *reapState, path string) (code int, body string) {
	answer := httptest.NewRecorder()
	s.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

func TestReapIsReadyWhenItSeesAndDoesAll(t *testing.T) {
	s := newReapState()
	code, body := askReap(s, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "not looked yet")

	s.Looked(nil, 0, []error{errors.New("the role needs verb delete on pods")})
	code, body = askReap(s, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "the role needs verb delete on pods")

	s.Looked([]reap.Action{{Kind: reap.Delete}}, 2, nil)
	s.Did(reap.Step{Kind: reap.StepDelete})
	s.Did(reap.Step{Kind: reap.StepDelete, Err: errors.New("503")})
	code, _ = askReap(s, "/readyz")
	require.Equal(t, http.StatusOK, code)
	_, body = askReap(s, "/metrics")
	for _, want := range []string{
		`tandem_reap_pods{decision="delete"} 1`, `tandem_reap_pods{decision="gang-spent"} 0`, "tandem_reap_excluded_nodes 2", "tandem_reap_problems 0",
		`tandem_reap_steps_total{step="delete",result="ok"} 1`, `tandem_reap_steps_total{step="delete",result="error"} 1`,
	} {
		require.Contains(t, body, want)
	}
	code, _ = askReap(s, "/healthz")
	require.Equal(t, http.StatusOK, code)
}

// TestThePageOfReapNamesEveryFlag holds docs/reap.md against the command line, with the defaults.
func TestThePageOfReapNamesEveryFlag(t *testing.T) {
	text, err := os.ReadFile("../../docs/reap.md")
	require.NoError(t, err)
	var usage bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"reap", "-h"}, environment(nil), &usage))
	flags := regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(usage.String(), -1)
	require.NotEmpty(t, flags)
	for _, match := range flags {
		require.Contains(t, string(text), "| `--"+match[1]+"` |")
	}
	policy := reap.DefaultPolicy()
	for flag, value := range map[string]any{
		"book": reap.DefaultBook, "causes": strings.Join(policy.Causes, ","), "node-budget": policy.NodeBudget, "gang-budget": policy.GangBudget,
		"total-budget": policy.TotalBudget, "exclude": policy.Exclude, "listen": defaultReapListen,
		"stuck-after": strings.TrimSuffix(policy.StuckAfter.String(), "0s"), "recent-within": strings.TrimSuffix(policy.RecentWithin.String(), "0s"),
		"report-after": strings.TrimSuffix(policy.ReportAfter.String(), "0s"),
	} {
		require.Regexp(t, fmt.Sprintf("(?m)^\\| `--%s` \\|.*\\| `%s` \\|$", flag, regexp.QuoteMeta(fmt.Sprint(value))), string(text))
	}
	for _, code := range []int{exitOK, exitFailed, exitUsage} {
		require.Contains(t, string(text), fmt.Sprintf("\n| %d | ", code))
	}
	for _, family := range reapFamilies {
		require.Contains(t, string(text), "| `"+family.Name)
	}
}
