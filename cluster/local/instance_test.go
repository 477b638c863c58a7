//go:build linux

package local_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	local "github.com/tandem-rl/tandem/cluster/local"
)

// TestInstance starts one instance, uses all of it, and takes it down.
func TestInstance(t *testing.T) {
	i := newInstance(t, "whole", "")
	before := takeSnapshot(t, i)
	// What a user may have set, and what the programs of a cluster would read.
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9")
	t.Setenv("ETCD_LISTEN_CLIENT_URLS", "not a URL")
	t.Setenv("KUBECONFIG", "/nonexistent")
	i.up(t, "--gpus", "4", "--nodes", "3")
	require.Equal(t, local.Dropped{}, i.status(t).Dropped, "packets dropped after the start")

	for _, test := range []struct {
		name string
		run  func(*testing.T, instance)
	}{
		{"what a user sets in the environment does not reach the programs", environmentStaysOut},
		{"pods reach each other through Services and DNS", servicesAndDNS},
		{"pods share the GPUs without meeting, and one that asks for more waits", gpus},
		{"the webhooks of JobSet and KubeRay refuse what is wrong", webhooks},
		{"a ServiceAccount may do what its roles allow and nothing else", serviceAccounts},
		{"simulated nodes are Ready, offer GPUs, and take only pods that tolerate them", simulatedNodes},
		{"up of an instance that is up changes nothing, and says so when it is asked for another", upAgain},
		{"a supervisor that hangs is reported and not waited for", hungSupervisor},
		{"a process can be stopped and started, and status and up say what is down", stopAndStart},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, i) })
	}

	require.Equal(t, local.Dropped{}, i.status(t).Dropped, "packets dropped after a run with pods, Services and DNS")
	processes := descendants(t, i.record(t).PID)
	require.Greater(t, len(processes), 15, "processes of the instance: %s", processes)
	for _, p := range processes {
		require.True(t, p.namespaced() || !p.lives(), "%s is in the host's PID namespace", p)
	}
	during := takeSnapshot(t, i)
	for _, what := range []string{"cgroups", "iptables", "instances"} {
		if what == "iptables" && output(t, "ip", "route", "show", "default")[0] == "" {
			continue // no way out of the machine, no rules
		}
		require.NotEqual(t, before[what], during[what], "the instance does not show in %s, so this test would not see it left", what)
	}
	require.Equal(t, before["kernel settings"], during["kernel settings"], "kubelet's settings stay inside")
	require.Equal(t, local.Dropped{}, i.down(t), "packets dropped until the end")
	require.Empty(t, cmp.Diff(before, takeSnapshot(t, i)), "the machine before up and after down (-before +after)")
	for _, p := range processes {
		require.False(t, p.lives(), "%s lives after down", p)
	}
}

func environmentStaysOut(t *testing.T, i instance) {
	for _, p := range descendants(t, i.record(t).PID) {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if errors.Is(err, os.ErrNotExist) || !p.lives() {
			continue
		}
		require.NoError(t, err)
		require.NotContains(t, string(data), "HTTPS_PROXY", p)
		require.NotContains(t, string(data), "ETCD_", p)
	}
}

func upAgain(t *testing.T, i instance) {
	was := i.record(t)
	i.must(t, "up", "--gpus", "4", "--nodes", "3")
	i.must(t, "up", "--gpus", "4", "--nodes", "3", "--api-port", fmt.Sprint(was.Config.APIPort))
	require.Equal(t, was, i.record(t))

	_, stderr, err := i.run(t, "up", "--gpus", "2", "--nodes", "3", "--fsync")
	require.Error(t, err)
	require.Contains(t, stderr, "it has --gpus=4, not 2")
	require.Contains(t, stderr, "it has --fsync=false, not true")
	require.NotContains(t, stderr, "--nodes")
	require.Contains(t, stderr, "tandem-local down --name t-whole")
	require.Equal(t, was, i.record(t))
}

func hungSupervisor(t *testing.T, i instance) {
	tini := i.record(t).PID
	for _, p := range descendants(t, tini) {
		if p.name != "tandem-local" {
			continue
		}
		require.NoError(t, syscall.Kill(p.pid, syscall.SIGSTOP))
		defer func() { require.NoError(t, syscall.Kill(p.pid, syscall.SIGCONT)) }()
		_, stderr, err := i.run(t, "status")
		require.Error(t, err)
		require.Contains(t, stderr, fmt.Sprintf("instance t-whole: its supervisor, below process %d, does not answer", tini))
		require.Contains(t, stderr, "take the instance down: tandem-local down --name t-whole")
		return
	}
	t.Fatal("there is no supervisor")
}

func stopAndStart(t *testing.T, i instance) {
	state := func(name string) (exit string, running bool) {
		for _, p := range i.status(t).Processes {
			if p.Name == name {
				return p.Exit, p.Running
			}
		}
		t.Fatalf("status does not list %s", name)
		return "", false
	}
	for _, name := range []string{"kube-apiserver", "kubelet"} {
		i.must(t, "stop", name, "--kill")
		exit, running := state(name)
		require.False(t, running)
		require.Equal(t, "signal: killed", exit)
		require.False(t, i.status(t).Ready)
		require.Contains(t, i.must(t, "status"), "signal: killed")
		_, stderr, err := i.run(t, "up", "--gpus", "4", "--nodes", "3")
		require.Error(t, err)
		require.Contains(t, stderr, name+" has ended (signal: killed; start it with: tandem-local start "+name+" --name t-whole)")
		i.must(t, "start", name)
	}
	i.must(t, "stop", "etcd")
	i.must(t, "start", "etcd")
	require.True(t, i.status(t).Ready)

	_, stderr, err := i.run(t, "start", "etcd")
	require.Error(t, err)
	require.Contains(t, stderr, "process etcd is running already")
	_, stderr, err = i.run(t, "stop", "nothing")
	require.Error(t, err)
	require.Contains(t, stderr, `process "nothing": no such process; there are: containerd, coredns, device-plugin, etcd,`)

	// A kubelet that starts again has forgotten its GPUs; the pods of before go on.
	i.kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "node/node-0")
	eventually(t, time.Minute, func() error {
		out, err := i.tryKubectl("", "get", "node", "node-0", `-o=jsonpath={.status.allocatable.nvidia\.com/gpu}`)
		if err != nil || out != "4" {
			return fmt.Errorf("allocatable GPUs: %q (%w)", out, err)
		}
		return nil
	})
	eventually(t, time.Minute, i.served)
}
