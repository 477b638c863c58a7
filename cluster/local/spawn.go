//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/tandem-rl/tandem/cluster/local/internal/supervisor"
)

// spawn starts the supervisor as the first process of new namespaces, below tini, which reaps what others orphan.
// It waits there until release is called, and ends when this process ends before that: so the caller can record it
// first, and no process is ever without a record.
func spawn(c Config, programs string) (r *record, release func() error, err error) {
	listener, port, err := listen(c.APIPort)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	c.APIPort = port
	gate, release, err := gate()
	if err != nil {
		return nil, nil, err
	}
	defer gate.Close()
	log, err := os.Create(c.log("supervisor"))
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd, err := superviseCommand(c, programs)
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{listener, gate} // become supervisor.ListenerFD and supervisor.GateFD
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start the supervisor in new namespaces: %w", err)
	}
	go func() { _ = cmd.Wait() }() // reaps it while this process lives; how it ended is in its log
	started, err := startTime(cmd.Process.Pid)
	if err != nil {
		return nil, nil, fmt.Errorf("the supervisor ended at once: %s", supervisor.Tail(c.log("supervisor"), 10))
	}
	return &record{Config: c, PID: cmd.Process.Pid, Started: started}, release, nil
}

// listen opens the listener for the API server on the host's side; it is handed over to the supervisor.
func listen(port int) (*os.File, int, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, 0, fmt.Errorf("port for the API server: %w", err)
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	return file, listener.Addr().(*net.TCPAddr).Port, err
}

// gate returns what the supervisor reads from before it does anything, and what lets it pass.
func gate() (*os.File, func() error, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return read, func() error {
		_, err := write.Write([]byte{1})
		return errors.Join(err, write.Close())
	}, nil
}

func superviseCommand(c Config, programs string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	spec, err := json.Marshal(supervisor.Namespace{
		State: c.dir(), Programs: programs, Node: nodeName, Address: nodeAddress, CIDR: addresses,
		Pods:      []string{podCIDR, fakePodCIDR, nodeCIDR},
		APIServer: nodeAddress + ":6443", Sysctls: kubeletSysctls,
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("tini", "--", self, "supervise", string(spec))
	cmd.Dir = "/"
	// Nothing else of the user's environment: HTTPS_PROXY, ETCD_*, KUBECONFIG and others change what the programs do.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "TMPDIR=" + c.dir("tmp")}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, // a Ctrl-C at `up` is not meant for it
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	return cmd, nil
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
