package kai

import "fmt"

// Violation is something in the objects that KAI does not do well with.
type Violation struct {
	Rule    Rule
	Warning bool   // it works, but not as one may think; otherwise it must not be deployed
	Object  string // "JobSet run7"
	Field   string // "" is the object as a whole
	Message string // what happens, and the way out
}

// Error makes a violation an error, so that many can be joined.
func (v Violation) Error() string {
	at := v.Object
	if v.Field != "" {
		at += ": " + v.Field
	}
	return fmt.Sprintf("%s: %s (rule %s)", at, v.Message, v.Rule)
}

// Check names everything in the objects that the version will not start as the mode asks for, sorted by rule.
func Check(v Version, mode Mode, objects *Objects) []Violation {
	l := &lint{version: v, features: v.Features(), mode: mode, objects: objects, gangs: Gangs(v, objects)}
	for _, rule := range rules {
		if rule.check != nil {
			l.rule = rule.id
			rule.check(l)
		}
	}
	return l.found
}

// Refused leaves the warnings out.
func Refused(violations []Violation) []Violation {
	var out []Violation
	for _, violation := range violations {
		if !violation.Warning {
			out = append(out, violation)
		}
	}
	return out
}

// lint is one run of Check.
type lint struct {
	version  Version
	features Features
	mode     Mode
	objects  *Objects
	gangs    []Gang

	rule  Rule // that is being checked
	found []Violation
}

func (l *lint) refuse(object, field, format string, args ...any) {
	l.found = append(l.found, Violation{Rule: l.rule, Object: object, Field: field, Message: fmt.Sprintf(format, args...)})
}

func (l *lint) warn(object, field, format string, args ...any) {
	l.refuse(object, field, format, args...)
	l.found[len(l.found)-1].Warning = true
}

// waiting calls f for each group of pods in a gang whose pods wait for each other.
func (l *lint) waiting(f func(*Gang, member)) {
	for i := range l.gangs {
		if gang := &l.gangs[i]; gang.IsGang() {
			for _, m := range gang.members {
				f(gang, m)
			}
		}
	}
}

// owners calls f for each owner that KAI has pods of.
func (l *lint) owners(f func(*owner)) {
	for _, o := range l.objects.owners {
		if o.usesKAI() {
			f(o)
		}
	}
}

// external is the gang among the objects that the owner has pods in.
func (l *lint) external(o *owner) *Gang {
	for i := range l.gangs {
		if gang := &l.gangs[i]; gang.External && gang.has(o) {
			return gang
		}
	}
	return nil
}

// optional tells whether the gang starts without these pods.
func (g *Gang) optional(m member) bool {
	if !g.External {
		return false
	}
	for _, leaf := range g.Leaves() {
		if leaf.Name == m.group.subGroup() {
			return leaf.Min == 0
		}
	}
	return false
}

// nameOf is how messages name a gang.
func (g *Gang) nameOf() string {
	if g.External {
		return kindPodGroup + " " + g.Name
	}
	return g.Owner
}
