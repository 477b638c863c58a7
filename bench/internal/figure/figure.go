// Package figure holds how the benchmarks measure and keep what several of them measure: quantiles, memory, and the file of a report.
package figure

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Quantile sorts all and returns the smallest that a share q of them does not exceed; 0 of none.
func Quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	rank := int(q*float64(len(all))+0.9999) - 1
	return all[min(max(rank, 0), len(all)-1)]
}

// Mebibytes of so many bytes.
func Mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

var resident = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// ResidentMiB is the resident memory of a process now.
func ResidentMiB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := resident.FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("/proc/%d/status has no VmRSS", pid)
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	return Mebibytes(kib * 1024), err
}

// WriteFile writes a report as JSON.
func WriteFile(file string, report any) error {
	raw, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
