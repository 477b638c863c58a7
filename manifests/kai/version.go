package kai

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Version is a release of the KAI scheduler, all of which are 0.x so far.
type Version struct {
	Minor, Patch int
	// Assumed tells that only the minor was given and Patch is the newest one known.
	Assumed bool
}

// newestPatch is the newest release known of each minor.
var newestPatch = map[int]int{12: 23, 13: 4, 14: 7, 15: 3, 16: 8, 17: 0}

const (
	oldestMinor    = 12
	newestMinor    = 17
	retractedMinor = 20
)

var versionSyntax = regexp.MustCompile(`^v?0\.(\d{1,4})(?:\.(\d{1,4}))?$`)

// Parse reads "0.17", "0.16.8" or "v0.15.3". A minor alone means the newest patch known of it; Caveats says what that may hide.
func Parse(text string) (Version, error) {
	match := versionSyntax.FindStringSubmatch(text)
	if match == nil {
		return Version{}, fmt.Errorf("KAI version %q: write 0.MINOR or 0.MINOR.PATCH, for example %q", text, newest())
	}
	minor, err := strconv.Atoi(match[1])
	if err != nil {
		return Version{}, fmt.Errorf("KAI version %q: %w", text, err)
	}
	if err := knownMinor(text, minor); err != nil {
		return Version{}, err
	}
	if match[2] == "" {
		return Version{Minor: minor, Patch: newestPatch[minor], Assumed: true}, nil
	}
	patch, err := strconv.Atoi(match[2])
	if err != nil {
		return Version{}, fmt.Errorf("KAI version %q: %w", text, err)
	}
	return Version{Minor: minor, Patch: patch}, nil
}

func knownMinor(text string, minor int) error {
	switch {
	case minor == retractedMinor:
		return fmt.Errorf("KAI version %q is retracted: 0.20.0 and 0.20.1 were tagged by mistake in November 2025 and are older than 0.12.0; "+
			"write the version that `helm list` shows for the scheduler, one of %s", text, knownMinors())
	case minor < oldestMinor:
		return fmt.Errorf("KAI version %q is older than 0.%d, the oldest one described here; upgrade to one of %s", text, oldestMinor, knownMinors())
	case minor > newestMinor:
		return fmt.Errorf("KAI version %q is newer than 0.%d, the newest one described here; write %q if it groups pods in the same way",
			text, newestMinor, newest())
	}
	return nil
}

func newest() string { return fmt.Sprintf("0.%d", newestMinor) }

func knownMinors() string {
	var out []string
	for _, minor := range slices.Sorted(maps.Keys(newestPatch)) {
		out = append(out, fmt.Sprintf("0.%d", minor))
	}
	return strings.Join(out, ", ")
}

// String is the version as KAI tags it without the "v"; an assumed patch is marked.
func (v Version) String() string {
	if v.Assumed {
		return fmt.Sprintf("%s (0.%d, newest patch known)", v.release(), v.Minor)
	}
	return v.release()
}

func (v Version) release() string { return fmt.Sprintf("0.%d.%d", v.Minor, v.Patch) }

func (v Version) before(other Version) bool {
	if v.Minor != other.Minor {
		return v.Minor < other.Minor
	}
	return v.Patch < other.Patch
}

// Caveats lists, for a version given by its minor alone, what does not hold for all patches of that minor.
func (v Version) Caveats() []string {
	if !v.Assumed {
		return nil
	}
	var out []string
	for _, row := range matrix {
		if row.span.startsOrEndsWithin(v.Minor) {
			out = append(out, fmt.Sprintf("%s: %s", row.what, row.span))
		}
	}
	return out
}

// span is a range of releases: from first up to, but without, end. A zero end is open.
type span struct{ first, end Version }

func from(minor, patch int) span { return span{first: Version{Minor: minor, Patch: patch}} }

func (s span) until(minor, patch int) span {
	s.end = Version{Minor: minor, Patch: patch}
	return s
}

func (s span) has(v Version) bool {
	return !v.before(s.first) && (s.end == (Version{}) || v.before(s.end))
}

func (s span) startsOrEndsWithin(minor int) bool {
	inside := func(v Version) bool { return v.Minor == minor && v.Patch > 0 && v.Patch <= newestPatch[minor]+1 }
	return inside(s.first) || inside(s.end)
}

func (s span) String() string {
	switch {
	case s.end == (Version{}):
		return "from " + s.first.release()
	case s.first == (Version{Minor: oldestMinor}):
		return "before " + s.end.release()
	default:
		return fmt.Sprintf("from %s, before %s", s.first.release(), s.end.release())
	}
}
