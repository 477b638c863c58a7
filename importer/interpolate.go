package importer

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// interpolator resolves what an infra file has of OmegaConf: references (absolute, and relative with leading dots), the resolvers of
// nrl-k8s, oc.env, and escapes. Package gymconfig does so for recipes, of which it leaves a part to Gym; here nothing is left.
type interpolator struct {
	root any
	user string
	// resolving guards against values that refer to each other in a circle.
	resolving map[string]bool
	wrong     []error
}

// interpolate returns the tree with all references resolved.
func interpolate(root any, user string) (any, error) {
	i := &interpolator{root: root, user: user, resolving: map[string]bool{}}
	out := i.tree(nil, root)
	return out, errors.Join(i.wrong...)
}

func (i *interpolator) tree(path []string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = i.tree(append(path[:len(path):len(path)], key), item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, item := range v {
			out[n] = i.tree(append(path[:len(path):len(path)], strconv.Itoa(n)), item)
		}
		return out
	case string:
		resolved, err := i.text(path, v)
		if err != nil {
			i.wrong = append(i.wrong, fmt.Errorf("%s: %w", strings.Join(path, "."), err))
			return v
		}
		return resolved
	default:
		return value
	}
}

// text resolves a string. One that is a single reference keeps the type of what it refers to.
func (i *interpolator) text(path []string, text string) (any, error) {
	out, rest := "", text
	for {
		before, after, found := strings.Cut(rest, "${")
		literal := strings.TrimRight(before, `\`)
		backslashes := len(before) - len(literal)
		if !found {
			return out + before, nil
		}
		out += literal + strings.Repeat(`\`, backslashes/2)
		if backslashes%2 == 1 {
			out, rest = out+"${", after
			continue
		}
		end := closing(after)
		if end < 0 {
			return nil, fmt.Errorf("%q has no end: write }, or \\${ for a variable of the shell", "${"+after)
		}
		value, err := i.expression(path, after[:end])
		if err != nil {
			return nil, err
		}
		if out == "" && after[end:] == "}" {
			return value, nil
		}
		out, rest = out+fmt.Sprint(value), after[end+1:]
	}
}

// closing is where the brace ends that an expression is in.
func closing(text string) int {
	depth := 0
	for at, c := range text {
		switch {
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return at
		case c == '}':
			depth--
		}
	}
	return -1
}

// expression is what stands between the braces: NAME:ARGUMENTS or a path.
func (i *interpolator) expression(path []string, text string) (any, error) {
	name, arguments, called := strings.Cut(text, ":")
	if !called {
		return i.reference(path, strings.TrimSpace(text))
	}
	var args []any
	for _, arg := range split(arguments) {
		value, err := i.text(path, strings.TrimSpace(arg))
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	return i.call(strings.TrimSpace(name), args)
}

// split separates arguments at the commas that are in no braces.
func split(arguments string) []string {
	if arguments == "" {
		return nil
	}
	depth, from := 0, 0
	var out []string
	for at, c := range arguments {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			out, from = append(out, arguments[from:at]), at+1
		}
	}
	return append(out, arguments[from:])
}

func (i *interpolator) call(name string, args []any) (any, error) {
	switch name {
	case "user":
		return i.user, nil
	case "oc.env":
		return environment(args)
	case "mul", "div", "max", "add":
		return arithmetic(name, args)
	}
	return nil, fmt.Errorf("nrl-k8s has no resolver %q: write \\${ for a variable of the shell", name)
}

func environment(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("oc.env takes the name of a variable")
	}
	if value, set := os.LookupEnv(fmt.Sprint(args[0])); set {
		return value, nil
	}
	if len(args) > 1 {
		return args[1], nil
	}
	return nil, fmt.Errorf("the environment variable %v is not set", args[0])
}

func arithmetic(name string, args []any) (any, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("%s takes two numbers, not %d", name, len(args))
	}
	a, errA := strconv.ParseFloat(fmt.Sprint(args[0]), 64)
	b, errB := strconv.ParseFloat(fmt.Sprint(args[1]), 64)
	if err := errors.Join(errA, errB); err != nil {
		return nil, fmt.Errorf("%s takes two numbers: %w", name, err)
	}
	switch {
	case name == "mul":
		return whole(a * b), nil
	case name == "add":
		return whole(a + b), nil
	case name == "max":
		return whole(max(a, b)), nil
	case b == 0:
		return nil, errors.New("a division by zero")
	default:
		return whole(a / b), nil
	}
}

// whole makes an int of a number that is one, as the fields that use it are.
func whole(n float64) any {
	if n == float64(int(n)) {
		return int(n)
	}
	return n
}

// reference finds what a path refers to. Each leading dot is one level above the value.
func (i *interpolator) reference(path []string, to string) (any, error) {
	key := strings.TrimLeft(to, ".")
	levels := len(to) - len(key)
	if levels > len(path) {
		return nil, fmt.Errorf("${%s} is above the file", to)
	}
	var target []string
	if levels > 0 {
		target = append(target, path[:len(path)-levels]...)
	}
	target = append(target, strings.FieldsFunc(key, func(c rune) bool { return c == '.' || c == '[' || c == ']' })...)
	value, found := lookup(i.root, target)
	if !found {
		return nil, fmt.Errorf("${%s} refers to %s, which is not in the file", to, strings.Join(target, "."))
	}
	at := strings.Join(target, ".")
	if i.resolving[at] {
		return nil, fmt.Errorf("${%s} refers to itself", to)
	}
	i.resolving[at] = true
	defer delete(i.resolving, at)
	if text, is := value.(string); is {
		return i.text(target, text)
	}
	return i.tree(target, value), nil
}

func lookup(value any, path []string) (any, bool) {
	for _, key := range path {
		switch v := value.(type) {
		case map[string]any:
			inner, is := v[key]
			if !is {
				return nil, false
			}
			value = inner
		case []any:
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(v) {
				return nil, false
			}
			value = v[n]
		default:
			return nil, false
		}
	}
	return value, true
}
