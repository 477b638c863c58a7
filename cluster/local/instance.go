//go:build linux

package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tandem-rl/tandem/cluster/local/internal/guard"
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
	if err := json.Unmarshal(data, &r); err != nil || r.Config.Name != c.Name {
		return nil, fmt.Errorf("%s: not the record of instance %q (%w); end its processes, if it has any, and remove %s by hand",
			c.recordFile(), c.Name, cmp.Or(err, fmt.Errorf("name %q", r.Config.Name)), c.dir())
	}
	return &r, nil
}

// write replaces the record in one step, so that a crash leaves the old one or the new one, and whole.
func (r *record) write(c Config) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	tmp := c.recordFile() + ".new"
	file, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, errWrite := file.Write(data)
	if err := errors.Join(errWrite, file.Sync(), file.Close()); err != nil {
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
	return guard.Guard{Comment: "tandem-local " + c.id(), Interface: iface, CIDR: addresses}
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

// foreign refuses a folder that is there but is not an instance's: it would be removed as one. That of an instance
// holds its record, from the first file to the last; a crash can leave it empty or with the draft of one.
func foreign(c Config) error {
	entries, err := os.ReadDir(c.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	own := filepath.Base(c.recordFile())
	for _, e := range entries {
		if e.Name() == own {
			return nil
		}
	}
	if len(entries) == 0 || len(entries) == 1 && entries[0].Name() == own+".new" {
		return nil
	}
	return fmt.Errorf("folder %s: not an instance of tandem-local (there is no %s), so it is neither used nor removed; choose another --name or --root",
		c.dir(), own)
}

// removeFolder removes the instance's folder, its record last.
func removeFolder(c Config) error {
	entries, err := os.ReadDir(c.dir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if file := c.dir(e.Name()); file != c.recordFile() {
			if err := os.RemoveAll(file); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(c.dir())
}

// makeDirs makes the folders of an instance.
func makeDirs(c Config) error {
	for _, dir := range []string{"pki", "log", "log/pods", "kubeconfig", "cni", "etcd", "kubelet", "containerd", "kwok", "tmp"} {
		if err := os.MkdirAll(filepath.Join(c.dir(), dir), 0o700); err != nil {
			return err
		}
	}
	return nil
}
