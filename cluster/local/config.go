package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// Addresses are the same in every instance: each has a network namespace of its own. The range is the one that
// RFC 2544 sets aside for tests inside one place; it is routed nowhere.
const (
	addresses   = "198.18.0.0/15"
	podCIDR     = "198.18.0.0/17"
	fakePodCIDR = "198.18.128.0/17" // pods of simulated nodes
	serviceCIDR = "198.19.0.0/17"
	serviceAPI  = "198.19.0.1" // the kubernetes Service: the first of the range
	nodeCIDR    = "198.19.128.0/17"
	nodeAddress = "198.19.255.1"
	fakeNodeIP  = "198.19.255.2"
	nodeName    = "node-0"
)

// Config says what to start. The zero value of every field but Name has a meaning.
type Config struct {
	// Name tells instances apart; at most 20 of [a-z0-9-]. Default "default".
	Name string `json:"name"`
	// GPUs is how many fake nvidia.com/gpu devices the real node offers. Default 0.
	GPUs int `json:"gpus"`
	// Nodes is how many simulated nodes kwok adds. They carry the taint kwok.x-k8s.io/node=fake:NoSchedule. Default 0.
	Nodes int `json:"nodes"`
	// NodeGPUs is how many nvidia.com/gpu a simulated node offers. Default 8.
	NodeGPUs int `json:"nodeGPUs"`
	// APIPort is the port on 127.0.0.1 for the API server. Default: one that is free.
	APIPort int `json:"apiPort"`
	// FSync makes etcd wait for the disk as it does in production. Default false.
	FSync bool `json:"fsync"`
	// Root is the folder of all instances; one that is relative is made absolute. Default /var/lib/tandem-local.
	Root string `json:"root"`
	// Cache is where the built binaries are kept. Default $XDG_CACHE_HOME/tandem-local or ~/.cache/tandem-local.
	Cache string `json:"cache"`
	// Source is the folder of this module, which the binaries are built from. Default: where this code was compiled.
	Source string `json:"source"`
}

const defaultRoot = "/var/lib/tandem-local"

var nameSyntax = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$`)

// WithDefaults returns c with every empty field that has a default filled in.
func (c Config) WithDefaults() (Config, error) {
	if c.Name == "" {
		c.Name = "default"
	}
	if c.NodeGPUs == 0 {
		c.NodeGPUs = 8
	}
	if c.Root == "" {
		c.Root = defaultRoot
	}
	if c.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return c, fmt.Errorf("no folder for built binaries: %w; name one with --cache", err)
		}
		c.Cache = filepath.Join(dir, "tandem-local")
	}
	if c.Source == "" {
		c.Source = sourceDir()
	}
	for _, dir := range []struct {
		flag string
		path *string
	}{{"root", &c.Root}, {"cache", &c.Cache}, {"source", &c.Source}} {
		real, err := resolve(*dir.path)
		if err != nil {
			return c, fmt.Errorf("%s %q: %w; choose another with --%s", dir.flag, *dir.path, err, dir.flag)
		}
		*dir.path = real
	}
	return c, c.validate()
}

func (c Config) validate() error {
	errs := []error{c.validateRoot()}
	if !nameSyntax.MatchString(c.Name) {
		errs = append(errs, fmt.Errorf("name %q: must be 1 to 20 of a-z, 0-9 and '-', and neither begin nor end with '-'", c.Name))
	}
	for _, n := range []struct {
		name       string
		value, max int
	}{{"gpus", c.GPUs, 1024}, {"nodes", c.Nodes, 5000}, {"node-gpus", c.NodeGPUs, 1024}, {"api-port", c.APIPort, 65535}} {
		if n.value < 0 || n.value > n.max {
			errs = append(errs, fmt.Errorf("%s %d: must be 0 to %d", n.name, n.value, n.max))
		}
	}
	return errors.Join(errs...)
}

// id tells the instance from all others of the machine, those of other roots too, where things have one name space:
// cgroups and packet rules.
func (c Config) id() string {
	if c.Root == defaultRoot {
		return c.Name
	}
	sum := sha256.Sum256([]byte(c.Root))
	return c.Name + "." + hex.EncodeToString(sum[:4])
}

// dir is the instance's folder: everything on disk that is its own.
func (c Config) dir(parts ...string) string {
	return filepath.Join(append([]string{c.Root, c.Name}, parts...)...)
}

func (c Config) pki(file string) string        { return c.dir("pki", file) }
func (c Config) log(name string) string        { return c.dir("log", name+".log") }
func (c Config) kubeconfig(user string) string { return c.dir("kubeconfig", user) }

// Kubeconfig is the administrator's kubeconfig for programs on the host.
func (c Config) Kubeconfig() string { return c.dir("kubeconfig", "host") }
