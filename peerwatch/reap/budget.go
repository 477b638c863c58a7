package reap

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit is so many deletions within any window of time.
type Limit struct {
	Count  int
	Window time.Duration
}

func (l Limit) String() string { return fmt.Sprintf("%d/%s", l.Count, short(l.Window)) }

// short is a duration without its zeros: 1h and not 1h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Budget is a set of limits, all of which hold.
type Budget []Limit

// ParseBudget reads COUNT/WINDOW, or several of them with commas: 2/10m,6/24h.
func ParseBudget(text string) (Budget, error) {
	var budget Budget
	for part := range strings.SplitSeq(text, ",") {
		count, window, found := strings.Cut(strings.TrimSpace(part), "/")
		if !found {
			return nil, fmt.Errorf("%q: want COUNT/WINDOW, as 3/1h", part)
		}
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("%q: %q is no whole number", part, count)
		}
		d, err := time.ParseDuration(window)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		budget = append(budget, Limit{n, d})
	}
	return budget, budget.validate()
}

func (b Budget) String() string {
	parts := make([]string, len(b))
	for i, limit := range b {
		parts[i] = limit.String()
	}
	return strings.Join(parts, ",")
}

func (b Budget) validate() error {
	if len(b) == 0 {
		return errors.New("want at least one limit, as 3/1h")
	}
	for _, limit := range b {
		if limit.Count < 1 || limit.Window <= 0 {
			return fmt.Errorf("%s: count and window must be more than zero", limit)
		}
	}
	return nil
}

func (b Budget) longest() time.Duration {
	var longest time.Duration
	for _, limit := range b {
		longest = max(longest, limit.Window)
	}
	return longest
}

// spent tells whether a further deletion at now would break a limit, which one, and until when. A deletion in the future
// (the clock was set back) counts too.
func (b Budget) spent(deletions []time.Time, now time.Time) (by Limit, until time.Time, spent bool) {
	for _, limit := range b {
		free := limit.freeAt(deletions, now)
		if free.After(now) && free.After(until) {
			by, until, spent = limit, free, true
		}
	}
	return by, until, spent
}

// freeAt is when fewer than Count of the deletions are in the window, at the earliest now. The deletions are sorted.
func (l Limit) freeAt(deletions []time.Time, now time.Time) time.Time {
	if len(deletions) < l.Count {
		return now
	}
	return deletions[len(deletions)-l.Count].Add(l.Window)
}
