package rayjob

import (
	"regexp"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// entrypoint is the driver's command as a line for the shell of the head, to which Ray gives it. Its exit code is the command's: the shell
// becomes the command.
//
// The driver's variables go by `env` into the line and not by runtimeEnvYAML: Ray refuses a driver whose ray.init names a variable that its
// job's runtime_env names too, as NeMo-RL's does with every variable it has.
func entrypoint(run *v1alpha1.Run) string {
	driver := run.Spec.Driver
	known := known(run)
	line := []string{"exec"}
	if len(driver.Env) > 0 {
		line = append(line, "env")
	}
	for _, variable := range driver.Env {
		value := expand(variable.Value, known)
		known[variable.Name] = value
		line = append(line, append(word{{text: variable.Name + "="}}, value...).quoted())
	}
	for _, argument := range driver.Command {
		line = append(line, expand(argument, known).quoted())
	}
	return strings.Join(line, " ")
}

// known are the variables that a command of a run may refer to as $(NAME), as in a container of the run. Kubernetes does not expand the
// line, so what it would set is written out; what is known only in the pod, the shell of the head takes from its environment.
func known(run *v1alpha1.Run) map[string]word {
	return map[string]word{
		v1alpha1.EnvRun:       {{text: run.Metadata.Name}},
		v1alpha1.EnvNamespace: {{text: run.Metadata.Namespace}},
		v1alpha1.EnvPodIP:     {{text: v1alpha1.EnvPodIP, variable: true}},
		v1alpha1.EnvPodName:   {{text: v1alpha1.EnvPodName, variable: true}},
	}
}

// word is one argument of the command in parts.
type word []part

// part is text as it stands, or the name of a variable of the shell.
type part struct {
	text     string
	variable bool
}

// expand replaces $(NAME) as Kubernetes does in containers: a name that is not known stays as it is, and $$ is a dollar sign.
func expand(text string, known map[string]word) word {
	var out word
	for {
		before, after, found := strings.Cut(text, "$")
		out = append(out, part{text: before})
		if !found {
			return out
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, isKnown := known[name]
		switch {
		case strings.HasPrefix(after, "$"):
			out, text = append(out, part{text: "$"}), after[1:]
		case strings.HasPrefix(after, "(") && closed && isKnown:
			out, text = append(out, value...), rest
		default:
			out, text = append(out, part{text: "$"}), after
		}
	}
}

// plain needs no quotes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is the word as a shell reads it back.
func (w word) quoted() string {
	var out strings.Builder
	text := ""
	flush := func() {
		if plain.MatchString(text) {
			out.WriteString(text)
		} else if text != "" {
			out.WriteString("'" + strings.ReplaceAll(text, "'", `'\''`) + "'")
		}
		text = ""
	}
	for _, p := range w {
		if !p.variable {
			text += p.text
			continue
		}
		flush()
		out.WriteString(`"$` + p.text + `"`)
	}
	flush()
	if out.Len() == 0 {
		return "''"
	}
	return out.String()
}
