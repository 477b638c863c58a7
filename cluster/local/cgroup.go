//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hierarchy is one mounted cgroup tree.
type hierarchy struct {
	dir     string
	options string
	unified bool // cgroup v2
}

func hierarchies() ([]hierarchy, error) {
	data, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, err
	}
	var list []hierarchy
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) > 3 && (f[2] == "cgroup" || f[2] == "cgroup2") {
			list = append(list, hierarchy{dir: f[1], options: f[3], unified: f[2] == "cgroup2"})
		}
	}
	return list, nil
}

// controllers returns the names of all controllers that a cgroup can be given.
func controllers() (map[string]bool, error) {
	list, err := hierarchies()
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, h := range list {
		names := strings.Split(h.options, ",")
		if h.unified {
			data, err := os.ReadFile(filepath.Join(h.dir, "cgroup.controllers"))
			if err != nil {
				return nil, err
			}
			names = strings.Fields(string(data))
		}
		for _, name := range names {
			have[name] = true
		}
	}
	return have, nil
}

// cgroupName is the instance's cgroup, the root of those that the kubelet makes.
func (c Config) cgroupName() string { return "tandem-local-" + c.id() }

// makeCgroups makes the instance's cgroup in every hierarchy: the kubelet wants its root to exist.
func makeCgroups(c Config) error {
	list, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range list {
		dir := filepath.Join(h.dir, c.cgroupName())
		if h.unified {
			if err := delegate(h.dir); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := inheritCPUs(h, dir); err != nil {
			return err
		}
	}
	return nil
}

// delegate offers every controller of a cgroup v2 tree to its children.
func delegate(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(data)) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+name), 0o644); err != nil {
			return fmt.Errorf("offer cgroup controller %s to children of %s: %w", name, dir, err)
		}
	}
	return nil
}

// inheritCPUs fills a new cpuset of cgroup v1, which begins empty and takes no process then.
func inheritCPUs(h hierarchy, dir string) error {
	if h.unified || !strings.Contains(","+h.options+",", ",cpuset,") {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		data, err := os.ReadFile(filepath.Join(h.dir, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes the instance's cgroups, children first. A cgroup stays busy for a moment after the last
// process in it was killed, so it is tried until ctx ends.
func removeCgroups(ctx context.Context, c Config) error {
	list, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range list {
		if err := removeTree(ctx, filepath.Join(h.dir, c.cgroupName())); err != nil {
			return err
		}
	}
	return nil
}

func removeTree(ctx context.Context, root string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		last := removeDirs(root)
		if last == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("remove cgroup %s: %w", root, last)
		}
	}
}

func removeDirs(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(dirs)
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
