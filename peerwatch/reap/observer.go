package reap

// Observer is told what a reaper sees and does, one call at a time.
type Observer interface {
	// Looked is called after every look, with what was decided, how many nodes are excluded, and what went wrong: an
	// empty list means that all was read, and all that was decided is done.
	Looked(actions []Action, excluded int, problems []error)
	// Did is called after every step, done or not.
	Did(Step)
}

// StepKind is one of a closed set.
type StepKind string

// The kinds of Step.
const (
	StepBook   StepKind = "book"
	StepEvent  StepKind = "event"
	StepDelete StepKind = "delete"
	StepTaint  StepKind = "taint"
)

// Step is one step of what was decided.
type Step struct {
	Kind StepKind
	Name string
	Err  error
}

type nobody struct{}

func (nobody) Looked([]Action, int, []error) {}
func (nobody) Did(Step)                      {}
