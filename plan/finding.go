package plan

import "fmt"

// Finding is what one check found.
type Finding struct {
	State State `json:"state"`
	// About is what was checked: nvidia.com/gpu, Secret hf-token, queue rl-team.
	About string `json:"about"`
	Text  string `json:"text"`
}

func (f Finding) String() string { return f.About + ": " + f.Text }

// State is the outcome of a check.
type State string

// The outcomes.
const (
	OK      State = "ok"
	Warning State = "warning"
	// Unknown: the user may not look, or nobody answered.
	Unknown State = "cannot tell"
	// Missing, Refused and Short block: something is not there, not allowed, or not enough.
	Missing State = "missing"
	Refused State = "refused"
	Short   State = "short"
)

// Blocks tells whether the run cannot start like this.
func (s State) Blocks() bool { return s == Missing || s == Refused || s == Short }

// Verdict is the end of a plan.
type Verdict struct {
	// State is OK, or that of the finding that blocks; Unknown where no cluster was asked.
	State State  `json:"state"`
	Text  string `json:"text"`
}

func (p *Plan) find(state State, about, format string, args ...any) {
	p.Findings = append(p.Findings, Finding{state, about, fmt.Sprintf(format, args...)})
}

// conclude is the verdict after a look at a cluster.
func (p *Plan) conclude() {
	unknown := 0
	for _, finding := range p.Findings {
		if finding.State.Blocks() {
			p.Verdict = Verdict{finding.State, fmt.Sprintf("%s: %s", finding.State, finding)}
			return
		}
		if finding.State == Unknown {
			unknown++
		}
	}
	p.Verdict = Verdict{OK, "fits"}
	if unknown > 0 {
		p.Verdict.Text = fmt.Sprintf("fits, as far as can be told (%d of %d checks cannot)", unknown, len(p.Findings))
	}
}

// Unasked ends a plan for which no cluster was asked.
func (p *Plan) Unasked(why string) {
	p.conclude()
	if !p.Verdict.State.Blocks() {
		p.Verdict = Verdict{Unknown, "not checked against a cluster: " + why}
	}
}
