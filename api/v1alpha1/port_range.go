package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"
)

// PortRanges are fixed ranges of ports for processes that would otherwise take any: disjoint, so that they never meet, and known, so that a
// firewall can let them through.
type PortRanges struct {
	// Ray is for Ray's worker processes (min-worker-port and max-worker-port). Default: Ray's own, 10002-19999.
	Ray PortRange `json:"ray,omitempty"`
	// Generation is for inference servers, which find it in TANDEM_GENERATION_PORT_LOW and _HIGH.
	Generation PortRange `json:"generation,omitempty"`
	// Gym is for NeMo Gym's servers, which find it in TANDEM_GYM_PORT_LOW and _HIGH.
	Gym PortRange `json:"gym,omitempty"`
}

// PortRange is LOW-HIGH, both included.
type PortRange string

// Bounds of the range; an error says what is wrong with it.
func (p PortRange) Bounds() (low, high int32, err error) {
	first, last, found := strings.Cut(string(p), "-")
	from, errFrom := strconv.ParseInt(first, 10, 32)
	to, errTo := strconv.ParseInt(last, 10, 32)
	switch {
	case !found || errFrom != nil || errTo != nil:
		return 0, 0, fmt.Errorf("must be two ports with a dash between them, such as 20000-20999")
	case from < 1024 || to > 65535:
		return 0, 0, fmt.Errorf("must lie between 1024 and 65535")
	case from > to:
		return 0, 0, fmt.Errorf("begins after its end: write %d-%d", to, from)
	}
	return int32(from), int32(to), nil
}
