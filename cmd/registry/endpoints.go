package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/tandem-rl/tandem/registry"
)

// endpoints is the registry as commands see it: a store, or a sidecar that has one. Only the sidecars of a run hold
// a token for the API server.
type endpoints interface {
	Set(ctx context.Context, key, value string) error
	Join(ctx context.Context, key, member string) error
	Leave(ctx context.Context, key, member string) error
	Delete(ctx context.Context, key string) error
	Fail(ctx context.Context, message string) error
	Get(ctx context.Context, key string) (string, error)
	GetNow(ctx context.Context, key string) (string, error)
	List(ctx context.Context) ([]registry.Endpoint, error)
	Watch(ctx context.Context, keys ...string) iter.Seq2[[]registry.Endpoint, error]
}

var (
	_ endpoints = (*registry.Store)(nil)
	_ endpoints = (*remote)(nil)
)

// patience bounds a request that does not wait.
const patience = 30 * time.Second

// command is what the commands that work on endpoints share: flags and arguments.
type command struct {
	target
	flags   *flag.FlagSet
	sidecar string
	args    []string
}

func newCommand(name string) *command {
	c := &command{flags: flag.NewFlagSet("registry "+name, flag.ContinueOnError)}
	c.bind(c.flags)
	c.flags.StringVar(&c.sidecar, "sidecar", os.Getenv("TANDEM_REGISTRY"), "address of a sidecar to ask instead of the API server, http://HOST:PORT or unix:PATH (default $TANDEM_REGISTRY)")
	return c
}

// parse reads the command line. wants names the arguments.
func (c *command) parse(args []string, std streams, wants ...string) (err error) {
	if c.args, err = parse(c.flags, args, std); err != nil {
		return err
	}
	if len(c.args) != len(wants) {
		return usageError{fmt.Errorf("usage: %s [flags] %s", c.flags.Name(), strings.Join(wants, " "))}
	}
	return nil
}

// open connects to the sidecar if there is one, unless the command line says which cluster to ask.
func (c *command) open() (endpoints, error) {
	if c.sidecar != "" && c.kubeconfig == "" {
		return newRemote(c.sidecar)
	}
	return c.target.open()
}

// openToWrite is open for commands that have to know the run's shards.
func (c *command) openToWrite(ctx context.Context) (endpoints, error) {
	if c.sidecar != "" && c.kubeconfig == "" {
		return newRemote(c.sidecar)
	}
	return c.openStore(ctx)
}

func (c *command) openStore(ctx context.Context) (*registry.Store, error) {
	if _, err := c.target.open(); err != nil {
		return nil, err
	}
	cfg, restConfig, err := c.config()
	if err != nil {
		return nil, err
	}
	return registry.Open(ctx, cfg, restConfig)
}
