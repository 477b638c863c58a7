//go:build linux

package local_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// busybox is the image that the tests' pods run: Debian's busybox-static, with sh.
const busybox = "tandem.dev/busybox:1"

var (
	cli       string // the built tandem-local
	imageFile string // busybox as a tarball
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if !clusters() {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "tandem-local-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	cli, imageFile = filepath.Join(dir, "tandem-local"), filepath.Join(dir, "busybox.tar")
	for _, cmd := range []*exec.Cmd{
		exec.Command("go", "build", "-o", cli, "./cmd/tandem-local"),
		exec.Command("chmod", "755", dir), // the test that is not root runs it too
		exec.Command(cli, "image", "--tag", busybox, "--out", imageFile, "--link", "/bin/sh=busybox", "--dir", "/tmp",
			"/bin/busybox=/usr/bin/busybox"),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", cmd, err, out)
			return 1
		}
	}
	return m.Run()
}

// clusters tells whether the tests that start clusters run.
func clusters() bool { return os.Geteuid() == 0 && !testing.Short() }

func needRoot(t *testing.T) {
	t.Helper()
	if !clusters() {
		t.Skip("SKIPPED: it starts a cluster in namespaces of its own, which needs root and is left out by -short")
	}
}
