package importer

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// submission is a script that submits a Ray job, in its parts.
type submission struct {
	command []string
	// address of the dashboard, if it is known.
	address string
	// options of `ray job submit` other than that, as they are written.
	options []string
	// others are statements around the submission.
	others []string
}

// bareOptions of `ray job submit` have no value.
var bareOptions = []string{"--no-wait", "--verify", "--verbose", "-v"}

// parseSubmission takes a script apart. It is nil for one that submits no job.
func parseSubmission(text string) *submission {
	s, err := parseScript(text)
	if err != nil {
		return nil
	}
	for i, stmt := range s.stmts {
		submit, tee := stmt, (*syntax.BinaryCmd)(nil)
		if pipe, is := stmt.Cmd.(*syntax.BinaryCmd); is && isPipe(pipe) {
			submit, tee = pipe.X, pipe
		}
		if args, is := calls(submit, "ray", "job", "submit"); is {
			out := &submission{others: s.around(i)}
			entry := s.options(args, out)
			out.command = s.driver(args[entry:], tee)
			return out
		}
	}
	return nil
}

// around are the other statements, without options of the shell and variables that are known.
func (s *script) around(at int) []string {
	var out []string
	for i, stmt := range s.stmts {
		_, option := calls(stmt, "set")
		if i != at && !option && len(assignments(stmt)) == 0 {
			out = append(out, s.source(stmt))
		}
	}
	return out
}

// options reads those of `ray job submit` and returns where the command begins.
func (s *script) options(args []*syntax.Word, out *submission) int {
	for i := 0; i < len(args); i++ {
		text := wordText(args[i])
		switch {
		case text == "--":
			return i + 1
		case !strings.HasPrefix(text, "-"):
			return i
		case strings.Contains(text, "=") || slices.Contains(bareOptions, text):
			s.option(text, text, args[i], out)
		default:
			if i++; i < len(args) {
				s.option(text, text+" "+wordText(args[i]), args[i], out)
			}
		}
	}
	return len(args)
}

func (s *script) option(name, text string, value *syntax.Word, out *submission) {
	if literal, known := s.literal(value); known && strings.HasPrefix(name, "--address") {
		out.address = strings.TrimPrefix(strings.TrimPrefix(literal, "--address="), "http://")
		return
	}
	out.options = append(out.options, text)
}

// driver is the command that is submitted. What was piped into tee still is, and the exit code counts.
func (s *script) driver(args []*syntax.Word, tee *syntax.BinaryCmd) []string {
	words, known := s.literals(args)
	if known && tee == nil {
		return words
	}
	text := s.quoted(args, words)
	if tee == nil {
		return []string{"/bin/bash", "-c", text}
	}
	into := " | "
	if tee.Op == syntax.PipeAll || len(tee.X.Redirs) > 0 {
		into = " 2>&1 | "
	}
	return []string{"/bin/bash", "-o", "pipefail", "-c", s.makeFolder(tee.Y) + "{\n" + text + "\n}" + into + s.teeText(tee.Y) + "\n"}
}

// quoted writes the command for a shell. One that is a script of a shell itself is that script.
func (s *script) quoted(args []*syntax.Word, words []string) string {
	if words == nil {
		return s.variables(args) + s.text[args[0].Pos().Offset():args[len(args)-1].End().Offset()]
	}
	if inner, _, is := scriptOf(words, nil); is {
		return s.asWritten(args[len(args)-1], inner)
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteWord(word)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(word string) string {
	quoted, err := syntax.Quote(word, syntax.LangBash)
	if err != nil {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return quoted
}

// variables that are used by the words.
func (s *script) variables(words []*syntax.Word) string {
	out := ""
	for _, stmt := range s.stmts {
		for _, assignment := range assignments(stmt) {
			if slices.ContainsFunc(words, func(w *syntax.Word) bool { return mentions(w, assignment.Name.Value) }) {
				out += s.source(stmt) + "\n"
				break
			}
		}
	}
	return out
}

// asWritten keeps the line breaks of a quoted script, where nothing in it has a meaning to quotes.
func (s *script) asWritten(word *syntax.Word, value string) string {
	source := strings.Trim(s.source(word), `"`)
	if strings.ReplaceAll(source, "\\\n", "") != value || strings.ContainsAny(value, "'\"`$\\") {
		return value
	}
	lines := strings.Split(source, "\\\n")
	for i, line := range lines {
		if i > 0 && strings.TrimLeft(line, " ") == line {
			return value // the break is within a word
		}
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, " \\\n  ")
}

func (s *script) teeText(tee *syntax.Stmt) string {
	args, _ := calls(tee)
	if words, known := s.literals(args); known {
		for i := range words {
			words[i] = quoteWord(words[i])
		}
		return strings.Join(words, " ")
	}
	return s.source(tee)
}

// makeFolder for the log: where it is missing, tee fails after all is done.
func (s *script) makeFolder(tee *syntax.Stmt) string {
	args, is := calls(tee, "tee")
	if !is || len(args) == 0 {
		return ""
	}
	file, known := s.literal(args[len(args)-1])
	if !known || !path.IsAbs(file) {
		return ""
	}
	return "mkdir -p " + quoteWord(path.Dir(file)) + " || exit\n"
}
