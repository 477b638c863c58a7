package gymconfig

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// PortRange is where Gym's servers listen, both ends included. Each takes a free port of it by chance.
type PortRange struct{ Low, High int }

// fewestPorts is what a range must have: Gym tries fifty times to hit a free one.
const fewestPorts = 50

// ParsePortRange reads LOW-HIGH.
func ParsePortRange(text string) (*PortRange, error) {
	low, high, found := strings.Cut(text, "-")
	first, err := strconv.ParseUint(low, 10, 16)
	last, errToo := strconv.ParseUint(high, 10, 16)
	switch {
	case !found || err != nil || errToo != nil:
		return nil, fmt.Errorf("%q is no range of ports; e.g. 15000-15999", text)
	case first < 1024:
		return nil, fmt.Errorf("%s: ports below 1024 need root", text)
	case last < first+fewestPorts-1:
		return nil, fmt.Errorf("%s: Gym picks ports by chance and gives up after %d tries; give it %d at least", text, fewestPorts, fewestPorts)
	}
	return &PortRange{int(first), int(last)}, nil
}

func (p *PortRange) String() string { return fmt.Sprintf("%d-%d", p.Low, p.High) }

func (p *PortRange) set(section *node) {
	if p == nil {
		return
	}
	section.set("port_range_low", newScalar(big.NewInt(int64(p.Low))))
	section.set("port_range_high", newScalar(big.NewInt(int64(p.High))))
}
