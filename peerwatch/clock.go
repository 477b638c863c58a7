package peerwatch

import "time"

// clock tells how much time has passed, as a point in time that no change of the wall clock moves: the wall time at which
// the watcher started, and the monotonic time since. All deadlines are counted on it, from what the watcher saw itself.
// Times that objects carry come from other clocks; they tell one spell of unreadiness from the next, and no more.
type clock struct {
	began   time.Time
	elapsed func() time.Duration
}

func newClock() clock {
	began := time.Now()
	return clock{began.Round(0), func() time.Duration { return time.Since(began) }}
}

func (c clock) now() time.Time { return c.began.Add(c.elapsed()) }
