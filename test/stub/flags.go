package main

import (
	"slices"
	"strings"
	"time"
)

// flags are parsed as leniently as a stand-in needs: real programs have hundreds, and those that the stub does not
// know are accepted and ignored. --x=y and --x y are the same; a flag without a value has "true".
type flags struct {
	values map[string]string
	rest   []string // arguments that are not flags, and everything after --
}

func parseFlags(args []string, booleans ...string) flags {
	f := flags{values: map[string]string{}}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			f.rest = append(f.rest, args...)
			return f
		}
		if !strings.HasPrefix(arg, "--") {
			f.rest = append(f.rest, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case given:
		case !slices.Contains(booleans, name) && len(args) > 0 && !strings.HasPrefix(args[0], "--"):
			value, args = args[0], args[1:]
		default:
			value = "true"
		}
		f.values[name] = value
	}
	return f
}

func (f flags) has(name string) bool { return f.values[name] == "true" }

func (f flags) get(name, otherwise string) string {
	if value, given := f.values[name]; given {
		return value
	}
	return otherwise
}

func (f flags) duration(name string) (time.Duration, error) {
	return time.ParseDuration(f.get(name, "0s"))
}
