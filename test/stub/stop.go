package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// rayStop ends the nodes that run in this container, as preStop hooks do.
func rayStop() int {
	lists, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return complain("ray stop: %v", err)
	}
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil || !isNode(bytes.Split(raw, []byte{0})) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(list)))
		if err == nil && sameNamespace(pid) {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it has just ended
		}
	}
	return 0
}

// isNode recognises `ray start`, also under the name that rayStartInBackground gives it.
func isNode(argv [][]byte) bool {
	if len(argv) > 1 && filepath.Base(string(argv[0])) == "stub" {
		argv = argv[1:]
	}
	return len(argv) > 1 && filepath.Base(string(argv[0])) == "ray" && string(argv[1]) == "start"
}

// sameNamespace leaves the containers of a shared host alone: only this one's processes have its mount namespace.
func sameNamespace(pid int) bool {
	mine, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return false
	}
	theirs, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns/mnt"))
	return err == nil && mine == theirs
}
