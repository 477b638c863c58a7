package gymconfig

import (
	"math/big"
	"regexp"
	"strings"
)

// element is an argument of a resolver. Exactly one field says what it is; all empty is null.
type element struct {
	value  any  // a number, a bool, a string without references
	text   text // a single reference keeps its type, all else is joined to a string
	quoted bool // text was in quotes, and is a string always
	list   *[]element
	pairs  *[]pair
}

type pair struct {
	key   any
	value element
}

// sequence reads elements up to the closing bracket. Where one is missing between commas, it is the empty string.
func (p *parser) sequence(closing string) ([]element, error) {
	if p.closes(closing) {
		return nil, nil
	}
	var out []element
	for {
		one := element{value: ""}
		if !p.followedBy(",") && !p.followedBy(closing) {
			var err error
			if one, err = p.element(); err != nil {
				return nil, err
			}
		}
		out = append(out, one)
		if p.closes(closing) {
			return out, nil
		}
		if !p.closes(",") {
			return nil, p.unexpected(", or " + closing)
		}
		p.blanks()
	}
}

// followedBy says whether a mark comes next, blanks before it or not.
func (p *parser) followedBy(mark string) bool {
	return strings.HasPrefix(strings.TrimLeft(p.rest(), " \t"), mark)
}

// closes reads a mark with the blanks before it, if it is there.
func (p *parser) closes(mark string) bool {
	if !p.followedBy(mark) {
		return false
	}
	p.blanks()
	p.at += len(mark)
	return true
}

func (p *parser) element() (element, error) {
	leave, err := p.nest()
	if err != nil {
		return element{}, err
	}
	defer leave()
	switch {
	case p.sees("'"), p.sees(`"`):
		quote := p.source[p.at]
		p.at++
		inner, err := p.text(quote)
		return element{text: inner, quoted: true}, err
	case p.sees("["):
		p.at++
		p.blanks()
		items, err := p.sequence("]")
		return element{list: &items}, err
	case p.sees("{"):
		p.at++
		p.blanks()
		pairs, err := p.mapping()
		return element{pairs: &pairs}, err
	default:
		return p.primitive(true)
	}
}

func (p *parser) mapping() ([]pair, error) {
	if p.closes("}") {
		return nil, nil
	}
	var out []pair
	for {
		key, err := p.primitive(false)
		if err != nil {
			return nil, err
		}
		if !p.closes(":") {
			return nil, p.unexpected("a colon")
		}
		p.blanks()
		value, err := p.element()
		if err != nil {
			return nil, err
		}
		out = append(out, pair{plain(key), value})
		if p.closes("}") {
			return out, nil
		}
		if !p.closes(",") {
			return nil, p.unexpected(", or }")
		}
		p.blanks()
	}
}

// plain is the value of an element without references.
func plain(e element) any {
	if e.text == nil {
		return e.value
	}
	var out strings.Builder
	for _, part := range e.text {
		out.WriteString(part.(string))
	}
	return out.String()
}

// The words of which unquoted text is made. The longest that fits counts, and of several the first.
var words = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"float", longest(`[+-]?(?:` + point + `|` + exponent + `|[Ii][Nn][Ff]|[Nn][Aa][Nn])`)},
	{"int", longest(`[+-]?` + whole)},
	{"bool", longest(`(?i:true|false)`)},
	{"null", longest(`(?i:null)`)},
	{"char", longest(`[/\-\\+.$%*@?|]`)},
	{"id", longest(`[a-zA-Z_][a-zA-Z0-9_-]*`)},
	{"escape", longest(`(?:\\\\|\\[()\[\]{}:=, \t])+`)},
	{"blanks", longest(`[ \t]+`)},
}

func longest(pattern string) *regexp.Regexp {
	compiled := regexp.MustCompile(`^` + pattern)
	compiled.Longest()
	return compiled
}

const (
	whole    = `(?:[1-9](?:_?[0-9])*|0)`
	point    = `(?:` + whole + `?\.[0-9](?:_?[0-9])*|` + whole + `\.)`
	exponent = `(?:` + point + `|` + whole + `)[eE][+-]?[0-9](?:_?[0-9])*`
)

// word returns the next word.
func (p *parser) word() (name, found string) {
	for _, one := range words {
		if match := one.pattern.FindString(p.rest()); len(match) > len(found) {
			name, found = one.name, match
		}
	}
	return name, found
}

// primitive reads unquoted text. Keys of mappings have no colons and no references.
func (p *parser) primitive(isValue bool) (element, error) {
	var out text
	first, count := "", 0
	for p.at < len(p.source) && !p.endsPrimitive(isValue) {
		if isValue && p.sees("${") {
			inner, err := p.reference()
			if err != nil {
				return element{}, err
			}
			out, first = append(out, inner), "reference"
			count++
			continue
		}
		name, found := p.word()
		if isValue && p.followedBy(":") {
			name, found = "colon", p.colon()
		}
		if found == "" {
			return element{}, p.unexpected("a value; put it in quotes if it is a string")
		}
		p.at += len(found)
		if name == "escape" {
			found = everySecond(found)
		}
		out, first = append(out, found), name
		count++
	}
	if count == 0 || count == 1 && first == "blanks" {
		return element{}, p.unexpected("a value")
	}
	if count == 1 && first != "reference" {
		return typed(first, out[0].(string)), nil
	}
	return element{text: out}, nil
}

func (p *parser) endsPrimitive(isValue bool) bool {
	return p.followedBy(",") || p.followedBy("]") || p.followedBy("}") || (!isValue && p.followedBy(":"))
}

// colon returns the colon that comes next with the blanks around it.
func (p *parser) colon() string {
	before := len(p.rest()) - len(strings.TrimLeft(p.rest(), " \t"))
	after := strings.TrimLeft(p.rest()[before+1:], " \t")
	return p.rest()[:len(p.rest())-len(after)]
}

// everySecond undoes a row of escapes: \\\, is \,
func everySecond(escaped string) string {
	var out strings.Builder
	for i := 1; i < len(escaped); i += 2 {
		out.WriteByte(escaped[i])
	}
	return out.String()
}

// typed is the value of unquoted text that is one word.
func typed(name, found string) element {
	switch name {
	case "null":
		return element{}
	case "bool":
		return element{value: strings.EqualFold(found, "true")}
	case "int":
		digits, negative := sign(found)
		value, _ := new(big.Int).SetString(digits, 10)
		if negative {
			value.Neg(value)
		}
		return element{value: value}
	case "float":
		digits, negative := sign(found)
		value, _ := pythonFloat(digits)
		if negative {
			value = -value
		}
		return element{value: value}
	default:
		return element{value: found}
	}
}
