package gymconfig

import "strings"

// composed is a string that is put together of literal text and of interpolations that stay.
type composed struct {
	parts   []string // literal and interpolation take turns, literal first
	hasGyms bool
}

func (c *composed) add(value any) {
	if len(c.parts)%2 == 0 {
		c.parts = append(c.parts, "")
	}
	other, is := value.(onlyGym)
	if !is {
		c.parts[len(c.parts)-1] += pythonString(value)
		return
	}
	c.parts = append(c.parts, other.text)
	c.hasGyms = true
}

func (c *composed) value() any {
	if !c.hasGyms {
		return strings.Join(c.parts, "")
	}
	var out strings.Builder
	for i, part := range c.parts {
		if i%2 == 0 {
			part = escape(part, i+1 < len(c.parts))
		}
		out.WriteString(part)
	}
	return onlyGym{out.String()}
}

// escape makes of a literal string what OmegaConf turns into it again, as a value or, before an interpolation, as a part of one.
func escape(literal string, beforeReference bool) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(literal, "${")
		backslashes := len(before) - len(strings.TrimRight(before, `\`))
		out.WriteString(before)
		if !found {
			if beforeReference {
				out.WriteString(strings.Repeat(`\`, backslashes))
			}
			return out.String()
		}
		out.WriteString(strings.Repeat(`\`, backslashes+1) + "${")
		literal = after
	}
}
