//go:build linux

package local

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// diskNeeded is the free space that a first build and a cluster take, in bytes.
const diskNeeded = 6 << 30

// programs lists what the host must have, with the Debian package that brings it.
var programs = []struct{ path, pkg string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"/usr/lib/cni/ptp", "containernetworking-plugins"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{"ip", "iproute2"},
	{"mount", "mount"},
	{"tini", "tini"},
}

// Preflight looks at the machine and reports everything that would keep an instance from starting, before
// anything is started.
func Preflight(c Config) error {
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	return errors.Join(missingPrograms(), cgroupControllers(), overlay(),
		folder("root", c.Root), folder("cache", c.Cache), freeDisk(c.Root), freeDisk(c.Cache), freePort(c))
}

var errNotRoot = errors.New("not root: mounts, namespaces and cgroups need it; run it with sudo, or point KUBECONFIG at a cluster that you have")

// folder refuses a file where a folder is wanted.
func folder(flag, path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s %q: is not a folder; choose another with --%s", flag, path, flag)
	}
	return nil
}

func missingPrograms() error {
	pkgs := map[string]bool{}
	var names []string
	for _, p := range programs {
		if _, err := exec.LookPath(p.path); err != nil {
			names = append(names, p.path)
			pkgs[p.pkg] = true
		}
	}
	var errs []error
	if len(names) > 0 {
		errs = append(errs, fmt.Errorf("missing programs: %s; run: apt-get install -y %s",
			strings.Join(names, ", "), strings.Join(slices.Sorted(maps.Keys(pkgs)), " ")))
	}
	if _, err := exec.LookPath("go"); err != nil {
		errs = append(errs, errors.New("missing program: go; install Go 1.26 (https://go.dev/dl) and put it on the PATH"))
	}
	return errors.Join(errs...)
}

// cgroupControllers checks those that kubelet and runc cannot do without.
func cgroupControllers() error {
	have, err := controllers()
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !have[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("cgroup controllers not available: %s; mount them (cgroup v1) or enable them in the kernel's command line", strings.Join(missing, ", "))
	}
	return nil
}

func overlay() error {
	data, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), "\toverlay\n") {
		return errors.New("the kernel has no overlay file system, which containerd needs; run: modprobe overlay")
	}
	return nil
}

// freeDisk checks the file system that dir is or will be on.
func freeDisk(dir string) error {
	var fs syscall.Statfs_t
	at := dir
	for {
		err := syscall.Statfs(at, &fs)
		if err == nil {
			break
		}
		parent := at[:max(1, strings.LastIndex(at, "/"))]
		if !errors.Is(err, syscall.ENOENT) || parent == at {
			return fmt.Errorf("look at the disk of %s: %w", dir, err)
		}
		at = parent
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < diskNeeded {
		return fmt.Errorf("disk of %s: %.1f GiB free, %.1f needed; free some, or choose another folder with --root or --cache",
			dir, float64(free)/(1<<30), float64(diskNeeded)/(1<<30))
	}
	return nil
}

// freePort checks the port for the API server, unless the instance itself has it.
func freePort(c Config) error {
	port := c.APIPort
	if port == 0 {
		return nil
	}
	if r, err := readRecord(c); err == nil && r != nil && r.alive() && r.Config.APIPort == port {
		return nil
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("port %d of 127.0.0.1 for the API server: %w; choose another with --api-port, or leave it out to get a free one", port, err)
	}
	return l.Close()
}
