//go:build linux

package local_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// snapshot is what the machine looks like, as sorted lines under the name of where they were read.
type snapshot map[string][]string

// takeSnapshot leaves out what belongs to other instances: they come and go at any time.
func takeSnapshot(t *testing.T, i instance) snapshot {
	t.Helper()
	s := snapshot{
		"ip link":               output(t, "ip", "-o", "link"),
		"iptables":              output(t, "iptables", "-S"),
		"iptables nat":          output(t, "iptables", "-t", "nat", "-S"),
		"/proc/self/mountinfo":  output(t, "cat", "/proc/self/mountinfo"),
		"cgroups":               cgroups(t),
		"instances":             folders(t, filepath.Dir(i.dir())),
		"temporary files":       glob(t, "/tmp/containerd-*"),
		"kernel settings":       kernelSettings(t),
		"network namespaces":    glob(t, "/run/netns/*"),
		"unix sockets, by name": sockets(t),
	}
	for what, lines := range s {
		s[what] = slices.DeleteFunc(lines, func(line string) bool {
			other := strings.Contains(line, "tandem-local-") || strings.Contains(line, "tandem-local ") || strings.Contains(line, "/tandem-local/")
			return other && !strings.Contains(line, i.name)
		})
		slices.Sort(s[what])
		if len(s[what]) == 0 {
			s[what] = nil
		}
	}
	return s
}

func output(t *testing.T, name string, args ...string) []string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, args, out)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return files
}

// folders are the instances below root, or root itself where it is empty.
func folders(t *testing.T, root string) []string {
	t.Helper()
	if list := glob(t, root+"/*"); len(list) > 0 {
		return list
	}
	return glob(t, root)
}

// cgroups are those at the top of each tree, those below the test's own, and all of instances. Further down, other
// programs of the machine make and remove theirs at any time.
func cgroups(t *testing.T) []string {
	t.Helper()
	const root = "/sys/fs/cgroup"
	own, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	interesting := func(path string) bool {
		_, below, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), "/")
		if !strings.Contains(below, "/") || strings.Contains(path, "tandem-local-") {
			return true
		}
		for line := range strings.Lines(string(own)) {
			of := strings.TrimSpace(line[strings.LastIndex(line, ":")+1:])
			if of != "/" && (strings.HasPrefix("/"+below+"/", of+"/") || strings.HasPrefix(of+"/", "/"+below+"/")) {
				return true
			}
		}
		return false
	}
	var dirs []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && d.IsDir() && !interesting(path):
			return fs.SkipDir
		case err == nil && d.IsDir():
			dirs = append(dirs, path)
		}
		return err
	})
	require.NoError(t, err)
	return dirs
}

// kernelSettings are those of the whole machine that a kubelet or a kube-proxy may write.
func kernelSettings(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
		"kernel/keys/root_maxbytes", "net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet", "net/nf_conntrack_max",
	} {
		data, err := os.ReadFile("/proc/sys/" + name)
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		lines = append(lines, name+"="+strings.TrimSpace(string(data)))
	}
	return lines
}

// sockets are the Unix sockets of this network namespace that listen at a path or an abstract name of an instance.
func sockets(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/net/unix")
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 7 && strings.Contains(f[7], "tandem-local") {
			names = append(names, f[7])
		}
	}
	return names
}

// process tells one process from all others there ever were since boot.
type process struct {
	pid     int
	started string
	name    string
}

func (p process) String() string { return fmt.Sprintf("%s (%d)", p.name, p.pid) }

// lives is false for a zombie: it holds nothing but its number.
func (p process) lives() bool {
	now, state, _ := readProcess(p.pid)
	return now == p && state != "Z" && state != "X"
}

// descendants are the processes below pid, and pid itself, as the host sees them.
func descendants(t *testing.T, pid int) []process {
	t.Helper()
	children := map[int][]int{}
	for _, dir := range glob(t, "/proc/[0-9]*") {
		child, err := strconv.Atoi(filepath.Base(dir))
		require.NoError(t, err)
		if p, _, parent := readProcess(child); p.pid != 0 {
			children[parent] = append(children[parent], child)
		}
	}
	var all []process
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		if p, _, _ := readProcess(queue[0]); p.pid != 0 {
			all = append(all, p)
		}
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

// readProcess reads /proc/PID/stat; the zero process has ended.
func readProcess(pid int) (p process, state string, parent int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, "", 0
	}
	head, rest, _ := strings.Cut(string(data), ") ")
	_, name, _ := strings.Cut(head, "(")
	f := strings.Fields(rest)
	parent, _ = strconv.Atoi(f[1]) // always a number
	return process{pid: pid, started: f[19], name: name}, f[0], parent
}

// namespaced tells whether a process lives in a PID namespace below this one.
func (p process) namespaced() bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return len(strings.Fields(rest)) > 1
		}
	}
	return false
}
