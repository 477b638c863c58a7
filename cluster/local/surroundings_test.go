//go:build linux

package local_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestBadSurroundings sees that whatever would keep an instance from starting is said before anything is made.
func TestBadSurroundings(t *testing.T) {
	i := newInstance(t, "bad", "")
	port := takenPort(t)
	tiny, users, left := t.TempDir(), t.TempDir(), t.TempDir()
	mount(t, tiny, "1m")
	before := takeSnapshot(t, i)
	require.NoError(t, os.MkdirAll(filepath.Join(users, i.name, "letters"), 0o755))

	for _, test := range []struct {
		name  string
		flags []string
		path  string // PATH, when it is not that of the test
		user  uint32
		want  []string
	}{
		{
			name: "the port is in use", flags: []string{"--api-port", port},
			want: []string{"port " + port + " of 127.0.0.1 for the API server", "address already in use", "choose another with --api-port"},
		},
		{name: "not root", user: 65534, want: []string{"not root", "sudo", "KUBECONFIG"}},
		{
			name: "a package is missing", path: pathWithout(t, "iptables", "tini"),
			want: []string{"missing programs: iptables, tini; run: apt-get install -y iptables tini"},
		},
		{
			name: "Go is missing", path: pathWithout(t, "go"),
			want: []string{"missing program: go; install Go 1.26"},
		},
		{
			name: "the name is no name", flags: []string{"--name", "Über_All"},
			want: []string{`name "Über_All": must be 1 to 20 of a-z, 0-9 and '-'`},
		},
		{
			name: "numbers out of range are all named at once", flags: []string{"--gpus", "-1", "--nodes", "5001"},
			want: []string{"gpus -1: must be 0 to 1024", "nodes 5001: must be 0 to 5000"},
		},
		{
			name: "the disk is full", flags: []string{"--root", tiny},
			want: []string{"disk of " + tiny + ": 0.0 GiB free, 6.0 needed", "--root"},
		},
		{
			name: "the source is not there", flags: []string{"--source", "/nowhere"},
			want: []string{"/nowhere is not the folder of cluster/local", "name it with --source"},
		},
		{
			name: "the root is where an instance does not see it", flags: []string{"--root", "/var/run/clusters"},
			want: []string{`root "/run/clusters": an instance has a /run of its own`, "choose another with --root"},
		},
		{
			name: "the root is too long for a socket", flags: []string{"--root", "/var/lib/" + strings.Repeat("long/", 20)},
			want: []string{"too long by 29: the kernel takes at most 107 bytes", "containerd.sock.ttrpc", "choose another with --root"},
		},
		{
			name: "the root has letters that mount options have a meaning for", flags: []string{"--root", "/var/lib/a:b"},
			want: []string{`root "/var/lib/a:b": must be a folder`, "choose another with --root"},
		},
		{
			name: "the root is a file", flags: []string{"--root", "/etc/passwd"},
			want: []string{`root "/etc/passwd": is not a folder`, "choose another with --root"},
		},
		{
			name: "the instance's folder is somebody else's", flags: []string{"--root", users},
			want: []string{"folder " + users + "/t-bad: not an instance of tandem-local", "choose another --name or --root"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, cli, append([]string{"up", "--name", i.name}, test.flags...)...)
			if test.path != "" {
				cmd.Env = append(os.Environ(), "PATH="+test.path)
			}
			if test.user != 0 {
				cmd.Dir = "/"
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: test.user, Gid: test.user}}
			}
			stdout, stderr, err := capture(cmd)
			require.Error(t, err)
			require.Empty(t, stdout)
			for _, text := range test.want {
				require.Contains(t, stderr, text)
			}
			require.NotContains(t, stderr, "Making folders", "something was started")
			require.Empty(t, cmp.Diff(before, takeSnapshot(t, i)), "the machine before and after (-before +after)")
			require.Empty(t, glob(t, tiny+"/*"))
		})
	}
	t.Run("down does not remove the folder of somebody else", func(t *testing.T) {
		_, stderr, err := instance{name: i.name, root: users}.run(t, "down")
		require.Error(t, err)
		require.Contains(t, stderr, "not an instance of tandem-local")
		require.DirExists(t, filepath.Join(users, i.name, "letters"))
	})
	t.Run("down removes the empty folder that a crash has left", func(t *testing.T) {
		require.NoError(t, os.Mkdir(filepath.Join(left, i.name), 0o755))
		instance{name: i.name, root: left}.down(t)
		require.NoDirExists(t, filepath.Join(left, i.name))
	})
	t.Run("status of an instance that is not up says how to start it", func(t *testing.T) {
		_, stderr, err := i.run(t, "status")
		require.Error(t, err)
		require.Contains(t, stderr, "instance is not up: t-bad; start it with: tandem-local up --name t-bad")
	})
}

// takenPort is a port of the loopback that is in use until the test ends.
func takenPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func mount(t *testing.T, dir, size string) {
	t.Helper()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
}

// pathWithout is a PATH with all that the test's has, but some programs.
func pathWithout(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		for _, file := range glob(t, filepath.Join(from, "*")) {
			err := os.Symlink(file, filepath.Join(dir, filepath.Base(file)))
			if err != nil {
				require.ErrorIs(t, err, os.ErrExist)
			}
		}
	}
	for _, name := range names {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	return dir
}
