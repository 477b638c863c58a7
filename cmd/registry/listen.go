package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/tandem-rl/tandem/internal/sidecar"
)

const unixPrefix = "unix:"

// checkListen refuses an address that other pods can reach: there is no authentication.
func checkListen(address string) error {
	if path, isUnix := strings.CutPrefix(address, unixPrefix); isUnix {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("--listen %q: want an absolute path", address)
		}
		return nil
	}
	if err := sidecar.CheckLoopback(address); err != nil {
		return fmt.Errorf("%w; a Unix socket is %sPATH", err, unixPrefix)
	}
	return nil
}

// listen opens a checked address. A Unix socket is open to every user: the folder decides who reaches it, and the
// containers of a pod run as different ones.
func listen(address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, unixPrefix)
	if !isUnix {
		return net.Listen("tcp", address)
	}
	if err := removeDeadSocket(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// removeDeadSocket removes what a killed process left. Nothing else is touched.
func removeDeadSocket(path string) error {
	conn, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(fmt.Errorf("--listen %s%s: somebody listens there", unixPrefix, path), conn.Close())
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return os.Remove(path)
	}
	return nil // net.Listen says what is wrong, if anything is
}
