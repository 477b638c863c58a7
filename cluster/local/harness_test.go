//go:build linux

package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	local "github.com/tandem-rl/tandem/cluster/local"
)

// patience bounds one command; a start takes 15 seconds on two idle cores.
const patience = 3 * time.Minute

// instance is one that a test owns. It is taken down at the test's end, whatever happened.
type instance struct {
	name string
	root string // empty: the default
}

func newInstance(t *testing.T, name, root string) instance {
	t.Helper()
	needRoot(t)
	i := instance{name: "t-" + name, root: root}
	t.Cleanup(func() {
		if _, stderr, err := i.run(t, "down"); err != nil {
			t.Errorf("down at the end: %v\n%s", err, stderr)
		}
	})
	return i
}

func (i instance) dir(parts ...string) string {
	root := i.root
	if root == "" {
		root = "/var/lib/tandem-local"
	}
	return filepath.Join(append([]string{root, i.name}, parts...)...)
}

// command is the CLI with this instance's flags. It ends with ctx.
func (i instance) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append(args, "--name", i.name)
	if i.root != "" {
		args = append(args, "--root", i.root)
	}
	cmd := exec.CommandContext(ctx, cli, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	return cmd
}

func (i instance) run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return capture(i.command(ctx, args...))
}

// must runs the CLI and returns what it prints; its talk is in the test's log.
func (i instance) must(t *testing.T, args ...string) string {
	t.Helper()
	start := time.Now()
	stdout, stderr, err := i.run(t, args...)
	t.Logf("tandem-local %s (%.1fs)\n%s", strings.Join(args, " "), time.Since(start).Seconds(), stderr)
	require.NoError(t, err, "tandem-local %s: %s", args, stderr)
	return stdout
}

func capture(cmd *exec.Cmd) (string, string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), stderr.String(), err
}

// up starts the instance and loads the pods' image.
func (i instance) up(t *testing.T, flags ...string) {
	t.Helper()
	i.must(t, append([]string{"up"}, flags...)...)
	i.must(t, "load", imageFile)
}

func (i instance) status(t *testing.T) local.Status {
	t.Helper()
	var status local.Status
	require.NoError(t, json.Unmarshal([]byte(i.must(t, "status", "-o", "json")), &status))
	return status
}

// down returns what down says was dropped.
func (i instance) down(t *testing.T) local.Dropped {
	t.Helper()
	var out struct{ Dropped local.Dropped }
	require.NoError(t, json.Unmarshal([]byte(i.must(t, "down", "--output=json")), &out))
	return out.Dropped
}

// record reads the instance's own record: its first process and its configuration.
func (i instance) record(t *testing.T) (r struct {
	PID     int
	Started uint64
	Ready   bool
	Config  local.Config
},
) {
	t.Helper()
	data, err := os.ReadFile(i.dir("instance.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r))
	return r
}

// tryKubectl returns what kubectl prints, or its error text.
func (i instance) tryKubectl(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	assets, err := assets()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(assets, "kubectl"), append([]string{"--kubeconfig", i.dir("kubeconfig", "host")}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	stdout, stderr, err := capture(cmd)
	if err != nil {
		return strings.TrimSpace(stderr), err
	}
	return strings.TrimSpace(stdout), nil
}

// assets is the folder of the built binaries.
func assets() (string, error) {
	c, err := local.Config{}.WithDefaults()
	if err != nil {
		return "", err
	}
	return local.Assets(c)
}

func (i instance) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := i.tryKubectl("", args...)
	require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return out
}

func (i instance) apply(t *testing.T, manifest string) {
	t.Helper()
	out, err := i.tryKubectl(manifest, "apply", "-f", "-")
	require.NoError(t, err, "kubectl apply: %s", out)
}

// eventually asks again and again until check has no complaint.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.NoError(t, err, "not within %s", within)
		}
	}
}
