package importer

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// rayStart is a script that starts Ray, in its parts.
type rayStart struct {
	// setup is what comes before `ray start`, and command what comes after it.
	setup, command string
	// flags of `ray start` by name; a bare one is "true". There are none where KubeRay makes the command.
	flags map[string]string
	// dynamic are flags whose value only the shell knows; setup adds them.
	dynamic []string
	// kept are statements that have no purpose but to keep the container alive.
	kept []string
}

// generated is the variable in which KubeRay leaves the command that it would have run.
const generated = "KUBERAY_GEN_RAY_START_CMD"

// startArgs is the array of tandem's start script that holds the arguments of `ray start`.
const startArgs = "ray_args"

// parseRayStart takes a script apart. It is nil for one that does not start Ray, or does so within an if or a function.
func parseRayStart(text string) *rayStart {
	s, err := parseScript(text)
	if err != nil {
		return nil
	}
	at := slices.IndexFunc(s.stmts, s.startsRay)
	if at < 0 {
		return nil
	}
	out := &rayStart{flags: map[string]string{}}
	s.readFlags(s.stmts[at], out)
	out.command = s.after(at, out)
	out.setup = strings.TrimSpace(s.before(at) + out.laterFlags())
	return out
}

func (s *script) startsRay(stmt *syntax.Stmt) bool {
	_, is := calls(stmt, "ray", "start")
	return is || mentions(stmt, generated)
}

// readFlags reads those of a statement that starts Ray.
func (s *script) readFlags(stmt *syntax.Stmt, out *rayStart) {
	if args, is := calls(stmt, "ray", "start"); is {
		s.addFlags(args, out)
		return
	}
	_, extra, _ := strings.Cut(s.source(stmt), generated)
	extra = strings.TrimSpace(strings.TrimRight(strings.TrimLeft(extra, `}"`), `"; `))
	// Within the quotes of an eval, the outer shell has expanded what is in single quotes.
	further, err := parseScript("ray start " + strings.ReplaceAll(extra, "'", `"`))
	if err != nil || len(further.stmts) != 1 {
		out.dynamic = append(out.dynamic, extra)
		return
	}
	if args, is := calls(further.stmts[0], "ray", "start"); is {
		s.addFlags(args, out)
	}
}

// addFlags reads `--name=value`, `--name value` and `--name`.
func (s *script) addFlags(args []*syntax.Word, out *rayStart) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		value, known := s.literal(word)
		if !known {
			out.dynamic = append(out.dynamic, wordText(word))
			continue
		}
		name, value, valued := strings.Cut(strings.TrimPrefix(value, "--"), "=")
		if !valued && i+1 < len(args) && !s.isFlag(args[i+1]) {
			i++
			if value, known = s.literal(args[i]); !known {
				out.dynamic = append(out.dynamic, "--"+name+"="+wordText(args[i]))
				continue
			}
			valued = true
		}
		if !valued {
			value = "true"
		}
		out.flags[name] = value
	}
}

func (s *script) isFlag(word *syntax.Word) bool {
	value, known := s.literal(word)
	return known && strings.HasPrefix(value, "-")
}

func wordText(word *syntax.Word) string {
	var out strings.Builder
	if err := syntax.NewPrinter().Print(&out, word); err != nil {
		return ""
	}
	return out.String()
}

// laterFlags adds flags that the shell computes to those of tandem's start script, which runs setup in its own shell.
func (r *rayStart) laterFlags() string {
	if len(r.dynamic) == 0 {
		return ""
	}
	return "\n" + startArgs + "+=(" + strings.Join(r.dynamic, " ") + ")"
}

// before is the script up to a statement, without what tandem does itself and without variables that nothing else uses.
func (s *script) before(at int) string {
	out, from, kept := "", 0, false
	for _, stmt := range s.stmts[:at] {
		if !s.isOwn(stmt) && !(s.isLiteral(stmt) && s.isUnused(stmt, at)) {
			_, option := calls(stmt, "set")
			kept = kept || !option
			continue
		}
		out += s.text[from:stmt.Pos().Offset()]
		rest := strings.TrimLeft(s.text[stmt.End().Offset():], "; \t")
		from = len(s.text) - len(strings.TrimPrefix(rest, "&&"))
	}
	if end := int(s.stmts[at].Pos().Offset()); from < end {
		out += s.text[from:end]
	}
	if !kept {
		return "" // options for nothing
	}
	out = blankLines.ReplaceAllString(strings.TrimSpace(out), "\n\n")
	return strings.TrimSpace(strings.TrimSuffix(out, "&&"))
}

var blankLines = regexp.MustCompile(`\n\s*\n`)

// isOwn: tandem's start script raises the limit of open files too.
func (s *script) isOwn(stmt *syntax.Stmt) bool {
	_, is := calls(stmt, "ulimit", "-n")
	return is
}

// isUnused: at most `ray start` needs the variables, or what comes after it, which takes them along.
func (s *script) isUnused(stmt *syntax.Stmt, at int) bool {
	others := slices.DeleteFunc(slices.Clone(s.stmts[:at]), func(other *syntax.Stmt) bool { return other == stmt })
	return !s.isNeeded(stmt, others)
}

// after is the script from a statement on, with the variables and options that it needs of what is before it.
func (s *script) after(at int, out *rayStart) string {
	rest := slices.DeleteFunc(slices.Clone(s.stmts[at+1:]), func(stmt *syntax.Stmt) bool {
		if keepsAlive(stmt) {
			out.kept = append(out.kept, s.source(stmt))
			return true
		}
		return false
	})
	if len(rest) == 0 {
		return ""
	}
	text := ""
	for _, stmt := range s.stmts[:at] {
		if _, option := calls(stmt, "set"); option || s.isNeeded(stmt, rest) {
			text += s.source(stmt) + "\n"
		}
	}
	return text + strings.TrimSpace(s.text[rest[0].Pos().Offset():rest[len(rest)-1].End().Offset()])
}

func (s *script) isNeeded(stmt *syntax.Stmt, by []*syntax.Stmt) bool {
	for _, assignment := range assignments(stmt) {
		for _, other := range by {
			if mentions(other, assignment.Name.Value) {
				return true
			}
		}
	}
	return false
}

// keepsAlive: the statement waits for ever.
func keepsAlive(stmt *syntax.Stmt) bool {
	for _, words := range [][]string{{"sleep", "infinity"}, {"sleep", "inf"}, {"tail", "-f", "/dev/null"}, {"wait"}} {
		if _, is := calls(stmt, words...); is {
			return true
		}
	}
	return false
}
