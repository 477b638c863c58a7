//go:build linux

package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tandem-rl/tandem/cluster/local/internal/child"
	"github.com/tandem-rl/tandem/cluster/local/internal/guard"
)

// Namespace describes the surroundings that a node's processes see.
type Namespace struct {
	// State is the instance's folder; it is the only part of /var/lib that the processes share with the host.
	State string `json:"state"`
	// Programs is the folder of the programs that are run; it is seen inside wherever it lies.
	Programs string `json:"programs"`
	// Node is the host name inside.
	Node string `json:"node"`
	// Address is the node's IP address.
	Address string `json:"address"`
	// CIDR holds all addresses of the instance. What is sent to one that nobody answers for is dropped and counted.
	CIDR string `json:"cidr"`
	// Pods are the ranges of pods and nodes. One that is not there (any more) is unreachable at once.
	Pods []string `json:"pods"`
	// APIServer is the host:port that connections from the host's loopback are forwarded to.
	APIServer string `json:"apiServer"`
	// Sysctls are settings of the kernel, as paths below /proc/sys, that belong to the whole machine. The processes
	// read these values there instead of the machine's, and what they write stays inside.
	Sysctls map[string]string `json:"sysctls"`
}

// uplink is where the default route points: a cable whose other end lies in the same namespace. An address that
// nobody has gets an answer from nobody, and no packet has a way out.
const uplink = "uplink0"

func (n Namespace) guard() guard.Guard {
	return guard.Guard{Comment: "tandem-local", Interface: uplink, CIDR: n.CIDR}
}

func (n Namespace) enter() error {
	if err := n.mounts(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(n.Node)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return n.network(context.Background())
}

// mounts gives the node its own /proc, /run, /var/log and /var/lib: kubelet, containerd and the CNI plugins have
// fixed paths there (/var/lib/kubelet/device-plugins, /run/containerd, /var/lib/cni, /var/log/containers) which
// must neither meet another instance's nor be left on the host.
func (n Namespace) mounts() error {
	// NOTE: private before anything else, or every mount below would appear on the host too.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make / private: %w", err)
	}
	state, err := os.Open(n.State)
	if err != nil {
		return err
	}
	defer state.Close()
	programs, err := os.Open(n.Programs)
	if err != nil {
		return err
	}
	defer programs.Close()
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range []string{"/run", "/var/log", "/var/lib"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount tmpfs on %s: %w", dir, err)
		}
	}
	for _, dir := range []*os.File{state, programs} {
		if err := bind(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), dir.Name()); err != nil {
			return err
		}
	}
	if err := n.sysctls(); err != nil {
		return err
	}
	if err := bind(filepath.Join(n.State, "kubelet"), "/var/lib/kubelet"); err != nil {
		return err
	}
	// Shared among the instance's own processes: kubelet's volumes must reach the containers.
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// sysctls lays a file over each setting: kubelet sets some for a machine that is a node and nothing else, such as to
// boot again 10 seconds after a panic.
func (n Namespace) sysctls() error {
	dir := filepath.Join(n.State, "sysctl")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, value := range n.Sysctls {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, "/proc/sys/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s to /proc/sys/%s: %w", file, name, err)
		}
	}
	return nil
}

func bind(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", from, to, err)
	}
	return nil
}

func (n Namespace) network(ctx context.Context) error {
	for _, line := range []string{
		"ip link set lo up",
		"ip link add " + uplink + " type veth peer name uplink1",
		"ip address add " + n.Address + "/32 dev " + uplink,
		"ip link set " + uplink + " up",
		"ip link set uplink1 up",
	} {
		if err := command(ctx, line); err != nil {
			return err
		}
	}
	if err := n.guard().Install(ctx); err != nil {
		return err
	}
	// The last words to a pod that is gone (a FIN, a retransmission) end here; each pod that is there has a route of
	// its own, which is more specific.
	for _, cidr := range n.Pods {
		if err := command(ctx, "ip route add unreachable "+cidr); err != nil {
			return err
		}
	}
	// A Service address must have a route before kube-proxy's rules rewrite it.
	if err := command(ctx, "ip route add default dev "+uplink); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

func command(ctx context.Context, line string) error {
	args := strings.Fields(line)
	if out, err := child.Command(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, out)
	}
	return nil
}
