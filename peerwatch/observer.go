package peerwatch

// Observer is told what a watcher decides and does. Its methods return at once and are safe for concurrent use.
type Observer interface {
	// Decided is told every decision, also one that has not changed, and how many things could not be seen.
	Decided(action Action, blindSpots int)
	// Did is told every step.
	Did(step Step)
}

// nobody observes a watcher by default.
type nobody struct{}

func (nobody) Decided(Action, int) {}
func (nobody) Did(Step)            {}
