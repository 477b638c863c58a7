//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tandem-rl/tandem/cluster/local/internal/guard"
	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// record is what an instance remembers of itself on disk.
type record struct {
	Config Config `json:"config"`
	// PID is the first process of the instance's PID namespace, as the host sees it.
	PID int `json:"pid"`
	// Started is the process' start time in clock ticks since boot: a PID alone may be another's by now.
	Started uint64 `json:"started"`
	// Interface is that of the host's default route when the host's rules were made; empty without one.
	Interface string `json:"interface"`
	// Ready is set at the end of a successful Up.
	Ready bool `json:"ready"`
}

func (c Config) recordFile() string { return c.dir("instance.json") }

// readRecord returns the instance's record, or nil when there is none.
func readRecord(c Config) (*record, error) {
	data, err := os.ReadFile(c.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", c.recordFile(), err)
	}
	return &r, nil
}

// write replaces the record in one step, so that a crash leaves the old one or the new one.
func (r *record) write(c Config) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	tmp := c.recordFile() + ".new"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, c.recordFile())
}

// alive tells whether the instance's first process is still there.
func (r *record) alive() bool {
	started, err := startTime(r.PID)
	return r.PID > 0 && err == nil && started == r.Started
}

// startTime reads field 22 of /proc/PID/stat; a zombie counts as gone.
func startTime(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(data), ") ") // the name before it may hold blanks
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, data)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

func (c Config) guard(iface string) guard.Guard {
	return guard.Guard{Comment: "tandem-local " + c.Name, Interface: iface, CIDR: addresses}
}

// defaultInterface is the interface that packets to anywhere leave by, or "" when there is no default route.
func defaultInterface() (string, error) {
	data, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" {
			return f[0], nil
		}
	}
	return "", nil
}

// spawn starts the supervisor as the first process of new namespaces, below tini, which reaps what others orphan.
// The listener for the API server is opened here, on the host's side, and handed over.
func spawn(c Config, self string) (*record, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.APIPort))
	if err != nil {
		return nil, fmt.Errorf("port for the API server: %w", err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c.APIPort = listener.Addr().(*net.TCPAddr).Port
	log, err := os.Create(c.log("supervisor"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	spec, err := json.Marshal(supervisor.Namespace{
		State: c.dir(), Node: nodeName, Address: nodeAddress, CIDR: addresses, APIServer: nodeAddress + ":6443",
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("tini", "--", self, "supervise", string(spec))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{file} // becomes supervisor.ListenerFD
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, // a Ctrl-C at `up` is not meant for it
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor in new namespaces: %w", err)
	}
	go func() { _ = cmd.Wait() }() // reaps it while this process lives; how it ended is in its log
	started, err := startTime(cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("the supervisor ended at once: %s", supervisor.Tail(c.log("supervisor"), 10))
	}
	return &record{Config: c, PID: cmd.Process.Pid, Started: started}, nil
}

// awaitSupervisor waits until the supervisor answers.
func awaitSupervisor(ctx context.Context, c Config, r *record) error {
	client := supervisor.NewClient(c.dir())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := client.List(ctx); err == nil {
			return nil
		}
		if !r.alive() {
			return fmt.Errorf("the supervisor ended: %s", supervisor.Tail(c.log("supervisor"), 10))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the supervisor does not answer: %w: %s", ctx.Err(), supervisor.Tail(c.log("supervisor"), 10))
		}
	}
}

// makeDirs makes the folders of an instance.
func makeDirs(c Config) error {
	for _, dir := range []string{"pki", "log", "log/pods", "kubeconfig", "cni", "etcd", "kubelet", "containerd", "tmp"} {
		if err := os.MkdirAll(filepath.Join(c.dir(), dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}
