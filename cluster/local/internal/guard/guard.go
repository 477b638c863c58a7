// Package guard keeps packets for an instance's addresses on the machine: rules that drop and count what would
// leave by one interface for its Pod, Service and node ranges.
//
// It adds and removes only rules that carry its own comment. It does not look at what is dropped; a count above
// zero means that some program sent to an address of the instance which nothing there answers for.
package guard

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/tandem-rl/tandem/cluster/local/internal/child"
)

// Guard is the rules of one instance on one interface.
type Guard struct {
	Comment   string // tells the rules from everybody else's
	Interface string // of the default route
	CIDR      string // what must not leave
}

// chains are where a packet on its way out is seen: sent by this machine, or forwarded by it.
var chains = []string{"OUTPUT", "FORWARD"}

// Install adds the rules in front of all others. Rules that are there already are left as they are.
func (g Guard) Install(ctx context.Context) error {
	for _, chain := range chains {
		found, err := g.installed(ctx, chain)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		if err := run(ctx, g.rule("-I", chain)...); err != nil {
			return err
		}
	}
	return nil
}

// Remove takes the rules away, however often they are there.
func (g Guard) Remove(ctx context.Context) error {
	for _, chain := range chains {
		for {
			found, err := g.installed(ctx, chain)
			if err != nil {
				return err
			}
			if !found {
				break
			}
			if err := run(ctx, g.rule("-D", chain)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// installed tells whether the rule is in the chain. Only status 1 means that it is not: a rule that cannot be asked
// for, because another holds the lock for long, must not be taken for one that is gone.
func (g Guard) installed(ctx context.Context, chain string) (bool, error) {
	err := run(ctx, g.rule("-C", chain)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// Dropped returns how many packets the rules have dropped since they were installed.
func (g Guard) Dropped(ctx context.Context) (int, error) {
	total := 0
	for _, chain := range chains {
		out, err := child.Command(ctx, "iptables", "-w", "10", "-t", "filter", "-nvxL", chain).CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("list rules of %s: %w: %s", chain, err, out)
		}
		n, err := packets(string(out), g.Comment)
		if err != nil {
			return 0, fmt.Errorf("read counters of %s: %w", chain, err)
		}
		total += n
	}
	return total, nil
}

// packets sums the first column of the rules that carry the comment.
func packets(listing, comment string) (int, error) {
	total := 0
	for line := range strings.Lines(listing) {
		if !strings.Contains(line, "/* "+comment+" */") {
			continue
		}
		n, err := strconv.Atoi(strings.Fields(line)[0])
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (g Guard) rule(verb, chain string) []string {
	return []string{
		"-w", "10", "-t", "filter", verb, chain, "-o", g.Interface, "-d", g.CIDR,
		"-m", "comment", "--comment", g.Comment, "-j", "DROP",
	}
}

func run(ctx context.Context, args ...string) error {
	if out, err := child.Command(ctx, "iptables", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("iptables %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
