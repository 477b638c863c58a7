package v1alpha1

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	yamlLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)
	tabbed   = regexp.MustCompile(`^ *\t`)
)

// notYAML is what the YAML parser says, with the line that it means: it counts the lines of some errors from 0, and says of a tab where
// the block began that it is in.
func notYAML(data []byte, err error) error {
	line, text := 0, strings.TrimPrefix(err.Error(), "yaml: ")
	if part := yamlLine.FindStringSubmatch(err.Error()); part != nil {
		line, _ = strconv.Atoi(part[1]) // digits
		text = part[2]
	}
	if strings.Contains(text, "tab character") || strings.Contains(text, "cannot start any token") {
		if tab := tabAt(data, line); tab > 0 {
			return asError([]Problem{{Line: tab, Message: "a tab before the text; YAML is indented with blanks only"}})
		}
	}
	if strings.HasPrefix(text, "did not find expected") {
		line++
	}
	line = min(max(line, 1), max(bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n"))+1, 1))
	return fmt.Errorf("line %d: not YAML: %s", line, text)
}

// tabAt is the line that is indented with a tab next to the one given, or 0.
func tabAt(data []byte, near int) int {
	best := 0
	for i, line := range strings.Split(string(data), "\n") {
		if n := i + 1; tabbed.MatchString(line) && (best == 0 || abs(n-near) < abs(best-near)) {
			best = n
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }
