package gymconfig

import (
	"fmt"
	"regexp"
	"strings"
)

// text is a string with references in it: literal strings (escapes are undone) and references.
type text []any

// ref is a reference to another value: ${a.b}, ${.b}, ${a[0]}. Pieces are the characters of the path and references in it.
type ref struct {
	pieces text
	source string
}

// call is a reference by way of a resolver: ${oc.env:HOME,none}.
type call struct {
	name   text
	args   []element
	source string
}

// maxDepth bounds how deep references and lists may be nested in one string; people need three.
const maxDepth = 64

// parser reads a string by the grammar of OmegaConf 2.3.
type parser struct {
	source string
	at     int
	depth  int
}

// parseText reads the value of a recipe.
func parseText(source string) (text, error) {
	p := &parser{source: source}
	out, err := p.text(0)
	if err != nil {
		return nil, fmt.Errorf("this is no interpolation that OmegaConf reads: %w", err)
	}
	return out, nil
}

func (p *parser) rest() string { return p.source[p.at:] }

func (p *parser) sees(prefix string) bool { return strings.HasPrefix(p.rest(), prefix) }

// unexpected is the error for what comes next.
func (p *parser) unexpected(want string) error {
	if p.at >= len(p.source) {
		return fmt.Errorf("it ends where %s is missing", want)
	}
	return fmt.Errorf("%.20q at character %d where %s belongs", p.rest(), p.at+1, want)
}

// nest counts levels; the caller defers what it returns.
func (p *parser) nest() (leave func(), err error) {
	if p.depth >= maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	p.depth++
	return func() { p.depth-- }, nil
}

// text reads to the end, or to the closing quote where there is one.
func (p *parser) text(quote byte) (text, error) {
	var out text
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			out = append(out, plain.String())
			plain.Reset()
		}
	}
	for p.at < len(p.source) {
		switch {
		case p.source[p.at] == '\\':
			plain.WriteString(p.backslashes(quote))
		case quote != 0 && p.source[p.at] == quote:
			flush()
			p.at++
			return out, nil
		case p.sees("${"):
			flush()
			inner, err := p.reference()
			if err != nil {
				return nil, err
			}
			out = append(out, inner)
		default:
			plain.WriteByte(p.source[p.at])
			p.at++
		}
	}
	if quote != 0 {
		return nil, p.unexpected("the closing quote " + string(quote))
	}
	flush()
	return out, nil
}

// backslashes reads a row of backslashes. They escape what follows, and each other, before a reference and a quote only.
func (p *parser) backslashes(quote byte) string {
	count := len(p.rest()) - len(strings.TrimLeft(p.rest(), `\`))
	p.at += count
	next := ""
	switch {
	case p.sees("${"):
		next = "${"
	case quote != 0 && p.sees(string(quote)):
		next = string(quote)
	default:
		return strings.Repeat(`\`, count)
	}
	half := strings.Repeat(`\`, count/2)
	if count%2 == 0 {
		return half // what follows is a reference, or the end
	}
	p.at += len(next)
	return half + next
}

// identifier and the characters that end a key within a reference.
var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

const endsKey = "\\{}()[]:. \t'\""

func (p *parser) blanks() { p.at += len(p.rest()) - len(strings.TrimLeft(p.rest(), " \t")) }

// reference reads ${...}.
func (p *parser) reference() (any, error) {
	leave, err := p.nest()
	if err != nil {
		return nil, err
	}
	defer leave()
	start := p.at
	p.at += len("${")
	p.blanks()
	pieces, shape, err := p.path()
	if err != nil {
		return nil, err
	}
	p.blanks()
	switch {
	case p.sees("}") && isPath(shape):
		p.at++
		return &ref{pieces, p.source[start:p.at]}, nil
	case p.sees(":") && isResolver(shape):
		p.at++
		p.blanks()
		args, err := p.sequence("}")
		if err != nil {
			return nil, err
		}
		return &call{pieces, args, p.source[start:p.at]}, nil
	}
	return nil, p.unexpected("the rest of a path like a.b[0] and }")
}

// path reads the inside of a reference up to its : or }. In shape each piece is one letter: i for an identifier, k for
// another key, r for a reference, and the dots and brackets.
func (p *parser) path() (pieces text, shape string, err error) {
	for p.at < len(p.source) && !strings.ContainsRune(":} \t", rune(p.source[p.at])) {
		switch c := p.source[p.at]; {
		case p.sees("${"):
			inner, err := p.reference()
			if err != nil {
				return nil, "", err
			}
			pieces, shape = append(pieces, inner), shape+"r"
		case strings.IndexByte(".[]", c) >= 0:
			pieces, shape = append(pieces, string(c)), shape+string(c)
			p.at++
		default:
			size := strings.IndexAny(p.rest(), endsKey)
			if size < 0 {
				size = len(p.rest())
			}
			if size == 0 {
				return nil, "", p.unexpected("a key")
			}
			key := p.rest()[:size]
			p.at += size
			pieces = append(pieces, key)
			if identifier.MatchString(key) {
				shape += "i"
			} else {
				shape += "k"
			}
		}
	}
	return pieces, shape, nil
}

var (
	pathShape     = regexp.MustCompile(`^\.*(?:[ikr]|\[[ikr]\])(?:\.[ikr]|\[[ikr]\])*$`)
	resolverShape = regexp.MustCompile(`^[ir](?:\.[ir])*$`)
)

func isPath(shape string) bool { return pathShape.MatchString(shape) }

func isResolver(shape string) bool { return resolverShape.MatchString(shape) }
