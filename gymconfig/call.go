package gymconfig

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// resolve is what a resolver does with its arguments.
type resolve func(r *resolver, at *node, args []any) (any, error)

// resolverNamed finds one of OmegaConf's own resolvers or of those that NeMo-RL registers (in its nemo_rl/utils/config.py).
func resolverNamed(name string) (found resolve, own bool) {
	switch name {
	case "oc.env":
		return (*resolver).ocEnv, true
	case "oc.select":
		return (*resolver).ocSelect, true
	case "oc.decode":
		return (*resolver).ocDecode, true
	case "oc.create":
		return (*resolver).ocCreate, true
	case "oc.dict.keys":
		return (*resolver).ocKeys, true
	case "oc.dict.values":
		return (*resolver).ocValues, true
	case "oc.deprecated":
		return (*resolver).ocDeprecated, true
	case "add":
		return arithmetic(add), false
	case "mul":
		return arithmetic(multiply), false
	case "div":
		return arithmetic(divide), false
	case "max":
		return arithmetic(larger), false
	}
	return nil, false
}

// Gym's own directives take the path of something in Gym's configuration, and only Gym follows it.
var directives = []string{"inherit_from", "copy"}

func (r *resolver) call(at *node, c *call) (any, error) {
	name, err := r.path(at, c.name)
	if err != nil {
		return nil, err
	}
	args := make([]any, 0, len(c.args))
	for _, arg := range c.args {
		value, err := r.element(at, arg)
		if err != nil {
			return nil, err
		}
		args = append(args, value)
	}
	if slices.Contains(directives, name) {
		return directive(name, args)
	}
	resolve, gymHasIt := resolverNamed(name)
	if resolve == nil {
		return nil, fmt.Errorf("there is no resolver %q in OmegaConf, NeMo-RL or Gym", name)
	}
	value, err := resolve(r, at, args)
	if !errors.Is(err, errGyms) {
		return value, err
	}
	if !gymHasIt {
		return nil, fmt.Errorf("%w, and Gym has no resolver %q", err, name)
	}
	return later(name, args), nil
}

// errGyms says that an argument is [onlyGym]. Where Gym has the resolver too, the call is left to it.
var errGyms = errors.New("an argument is known to Gym alone")

func anyGyms(args []any) bool {
	return slices.ContainsFunc(args, func(arg any) bool {
		switch a := arg.(type) {
		case onlyGym:
			return true
		case *node:
			return holdsGyms(a)
		}
		return false
	})
}

func holdsGyms(n *node) bool {
	for _, one := range n.entries {
		if holdsGyms(one.value) {
			return true
		}
	}
	_, is := n.scalar.(onlyGym)
	return is || slices.ContainsFunc(n.items, holdsGyms)
}

func directive(name string, args []any) (any, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("it takes one path, and has %d arguments", len(args))
	}
	path, is := args[0].(string)
	if !is {
		return nil, fmt.Errorf("it takes a path, and this is %s", describe(args[0]))
	}
	return onlyGym{"${" + name + ":" + path + "}"}, nil
}

// element resolves an argument. Lists and mappings become nodes below at, as if they stood there; what is referred to within
// them keeps its place, and so its own references.
func (r *resolver) element(at *node, e element) (any, error) {
	switch {
	case e.list != nil:
		out := &node{kind: listKind, plain: true, parent: at}
		for _, item := range *e.list {
			child, err := r.elementNode(at, item)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, child)
		}
		return out, nil
	case e.pairs != nil:
		out := &node{kind: mappingKind, plain: true, parent: at}
		for _, one := range *e.pairs {
			child, err := r.elementNode(at, one.value)
			if err != nil {
				return nil, err
			}
			out.put(one.key, child)
		}
		return out, nil
	case e.quoted:
		return r.quoted(at, e.text)
	case e.text != nil:
		return r.text(at, e.text)
	default:
		return e.value, nil
	}
}

func (r *resolver) elementNode(at *node, e element) (*node, error) {
	value, err := r.element(at, e)
	if err != nil {
		return nil, err
	}
	if container, is := value.(*node); is {
		return container, nil
	}
	return &node{kind: scalarKind, scalar: value, literal: true}, nil
}

// quoted is a string even where it is a single reference to a number.
func (r *resolver) quoted(at *node, parts text) (any, error) {
	value, err := r.text(at, parts)
	if _, gyms := value.(onlyGym); gyms || err != nil {
		return value, err
	}
	if len(parts) == 0 {
		return "", nil
	}
	return pythonString(value), nil
}

// later writes a call for Gym, with the arguments that are resolved already.
func later(name string, args []any) onlyGym {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		words = append(words, argument(arg))
	}
	return onlyGym{"${" + name + ":" + strings.Join(words, ",") + "}"}
}

// argument writes a value as an argument of a resolver.
func argument(value any) string {
	switch v := value.(type) {
	case onlyGym:
		if parts, err := parseText(v.text); err == nil && len(parts) == 1 {
			return v.text
		}
		return quote(v.text)
	case string:
		return quote(escape(v, false))
	case nil:
		return "null"
	case *big.Int, float64, bool:
		return pythonString(v)
	case *node:
		var parts []string
		for _, one := range v.entries {
			parts = append(parts, pythonString(one.key)+": "+argument(one.value.argument()))
		}
		if v.kind == mappingKind {
			return "{" + strings.Join(parts, ",") + "}"
		}
		for _, item := range v.items {
			parts = append(parts, argument(item.argument()))
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		return quote(escape(pythonString(v), false))
	}
}

// quotable are the places where a quoted string needs a backslash for each there is: before a quote, and at its end.
var quotable = regexp.MustCompile(`(\\*)('|$)`)

// quote puts a text into quotes; the references in it stay references.
func quote(text string) string {
	return "'" + quotable.ReplaceAllStringFunc(text, func(found string) string {
		backslashes := strings.TrimSuffix(found, "'")
		if found == backslashes {
			return backslashes + backslashes
		}
		return backslashes + backslashes + `\'`
	}) + "'"
}

func (n *node) argument() any {
	if n.isContainer() {
		return n
	}
	return n.scalar
}
