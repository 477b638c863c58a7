package launch

import "time"

// patienceTime is how long the same hindrance lasts before something should be done about it.
const patienceTime = time.Minute

// patience notices a hindrance that lasts. It is told of every status, and has no clock.
type patience struct {
	hint  string
	since time.Time
	said  bool
}

// look returns a hint once a hindrance has lasted, and when it may have something to say although nothing changes; zero for never.
func (p *patience) look(status Status, now time.Time) (line string, at time.Time) {
	if status.hint == "" { // perhaps only while it is tried again
		return "", time.Time{}
	}
	if status.hint != p.hint {
		*p = patience{hint: status.hint, since: now}
	}
	if p.said {
		return "", time.Time{}
	}
	if at = p.since.Add(patienceTime); now.Before(at) {
		return "", at
	}
	p.said = true
	return "hint: " + p.hint + "; tandem down " + status.Name + " ends it", time.Time{}
}
