package local

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// longestSocket is the longest path that the kernel takes for a Unix socket.
const longestSocket = 107

// rootSyntax leaves out what containerd's configuration, the mount options of overlayfs (':' and ',') or the Corefile
// would read as something else.
var rootSyntax = regexp.MustCompile(`^/[A-Za-z0-9/._+@~-]+$`)

// masked are folders that an instance has of its own: what the host has below them is not seen inside.
var masked = []string{"/run", "/var/log", "/var/lib/kubelet", "/proc", "/sys", "/dev"}

func (c Config) validateRoot() error {
	refuse := func(reason string, args ...any) error {
		return fmt.Errorf("root %q: %s; choose another with --root", c.Root, fmt.Sprintf(reason, args...))
	}
	for _, dir := range masked {
		if c.Root == dir || strings.HasPrefix(c.Root, dir+"/") {
			return refuse("an instance has a %s of its own, where it would not see its files", dir)
		}
	}
	if !rootSyntax.MatchString(c.Root) {
		return refuse("must be a folder below / whose path has only letters, digits and /._+@~-, as containerd and overlayfs take no other")
	}
	if socket := c.longSocket(); len(socket) > longestSocket {
		return refuse("too long by %d: the kernel takes at most %d bytes for the path of a socket such as %s",
			len(socket)-longestSocket, longestSocket, socket)
	}
	return nil
}

// longSocket is the longest path of a socket in the instance's folder: containerd adds the ending.
func (c Config) longSocket() string { return c.containerdSocket() + ".ttrpc" }

func (c Config) containerdSocket() string { return c.dir("containerd.sock") }

// resolve makes a path absolute and follows its symbolic links as far as it exists.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if errors.Is(err, fs.ErrPermission) {
			return abs, nil // whoever uses the path says so
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
