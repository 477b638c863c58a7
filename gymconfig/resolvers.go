package gymconfig

import (
	"errors"
	"fmt"
)

// takes checks the number of arguments, and that each that is needed now is known now.
func takes(args []any, least, most int) error {
	if len(args) < least || len(args) > most {
		return fmt.Errorf("it takes %d to %d arguments, and has %d", least, most, len(args))
	}
	return nil
}

// keyArgument is the first argument, which is a string.
func keyArgument(args []any, most int) (string, error) {
	if err := takes(args, 1, most); err != nil {
		return "", err
	}
	if anyGyms(args[:1]) {
		return "", errGyms
	}
	key, is := args[0].(string)
	if !is {
		return "", fmt.Errorf("its first argument must be a string, and is %s", describe(args[0]))
	}
	return key, nil
}

// ocEnv is a variable of the environment, always a string. A default becomes a string too, unless it is null.
func (r *resolver) ocEnv(_ *node, args []any) (any, error) {
	name, err := keyArgument(args, 2)
	if err != nil {
		return nil, err
	}
	if r.env == nil {
		return nil, errGyms
	}
	if value, set := r.env(name); set {
		return value, nil
	}
	switch {
	case len(args) == 1:
		return nil, fmt.Errorf("the environment has no variable %s", name)
	case args[1] == nil:
		return nil, nil
	case anyGyms(args[1:]):
		return nil, errGyms
	default:
		return pythonString(args[1]), nil
	}
}

// ocSelect is another value, and the default (or null) where there is none.
func (r *resolver) ocSelect(at *node, args []any) (any, error) {
	key, err := keyArgument(args, 2)
	if err != nil {
		return nil, err
	}
	value, err := r.lookUp(at, key)
	switch {
	case err == nil:
		return value, nil
	case !errors.Is(err, errNoKey) && !errors.Is(err, errMissing) && !errors.Is(err, errNotContainer):
		return nil, err
	case len(args) == 1:
		return nil, nil
	case anyGyms(args[1:]):
		return nil, errGyms
	default:
		return args[1], nil
	}
}

// lookUp finds a value by its path in an argument, which is read as in a reference.
func (r *resolver) lookUp(at *node, key string) (any, error) {
	start, keys, err := r.start(at, key)
	if err != nil {
		return nil, err
	}
	value, err := r.find(start, keys)
	if err != nil && r.section != nil && start == r.root {
		if other, err := r.find(r.section, keys); err == nil {
			return other, nil
		}
	}
	return value, err
}

// ocDecode reads a string as an argument is read.
func (r *resolver) ocDecode(at *node, args []any) (any, error) {
	if err := takes(args, 1, 1); err != nil {
		return nil, err
	}
	if anyGyms(args) {
		return nil, errGyms
	}
	source, is := args[0].(string)
	if !is {
		if args[0] == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("it reads strings, and this is %s", describe(args[0]))
	}
	p := &parser{source: source}
	parsed, err := p.element()
	if err == nil && p.at < len(p.source) {
		err = p.unexpected("the end")
	}
	if err != nil {
		return nil, fmt.Errorf("%q cannot be decoded: %w", source, err)
	}
	return r.element(at, parsed)
}

// ocCreate makes a list or mapping a part of the configuration, which lists and mappings are here anyway.
func (r *resolver) ocCreate(at *node, args []any) (any, error) {
	if err := takes(args, 1, 1); err != nil {
		return nil, err
	}
	if anyGyms(args) {
		return nil, errGyms
	}
	switch v := args[0].(type) {
	case *node:
		out := v.configured()
		out.parent = at
		return out, nil
	case nil:
		return nil, nil
	case string:
		return created(at, v)
	default:
		return nil, fmt.Errorf("it takes a list or a mapping, and this is %s", describe(v))
	}
}

// created is the configuration that a string holds as YAML; a mere word is its one key.
func created(at *node, source string) (any, error) {
	out, err := parseYAML([]byte(source))
	if err != nil {
		return nil, err
	}
	word, is := out.scalar.(string)
	switch {
	case is:
		out = newMapping()
		out.set(word, newScalar(nil))
	case !out.isContainer():
		return nil, fmt.Errorf("%q is no list or mapping", source)
	}
	out.parent = at
	return out, nil
}

func (r *resolver) mappingArgument(at *node, args []any) (string, *node, error) {
	key, err := keyArgument(args, 1)
	if err != nil {
		return "", nil, err
	}
	value, err := r.lookUp(at, key)
	if err != nil {
		return "", nil, err
	}
	mapping, is := value.(*node)
	if !is || mapping.kind != mappingKind {
		return "", nil, fmt.Errorf("%s is %s, not a mapping", key, describe(value))
	}
	return key, mapping, nil
}

func (r *resolver) ocKeys(at *node, args []any) (any, error) {
	_, mapping, err := r.mappingArgument(at, args)
	if err != nil {
		return nil, err
	}
	out := &node{kind: listKind, parent: at}
	for _, one := range mapping.entries {
		out.add(newScalar(one.key))
	}
	return out, nil
}

// ocValues is a list of references, each to one value of the mapping.
func (r *resolver) ocValues(at *node, args []any) (any, error) {
	key, mapping, err := r.mappingArgument(at, args)
	if err != nil {
		return nil, err
	}
	if key[0] == '.' {
		key = "." + key // the list is one level deeper
	}
	out := &node{kind: listKind, parent: at}
	for _, one := range mapping.entries {
		out.add(newScalar("${" + key + "." + pythonString(one.key) + "}"))
	}
	return out, nil
}

// ocDeprecated is another value. The warning that it stands for is not printed.
func (r *resolver) ocDeprecated(at *node, args []any) (any, error) {
	key, err := keyArgument(args, 2)
	if err != nil {
		return nil, err
	}
	return r.lookUp(at, key)
}
