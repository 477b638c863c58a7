package importer

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// script is a shell script and the values of the variables that it sets to literals.
type script struct {
	text  string
	stmts []*syntax.Stmt
	vars  map[string]string
}

// parseScript reads a script of bash. Commands joined by && are statements of their own.
func parseScript(text string) (*script, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	s := &script{text: text, vars: map[string]string{}}
	for _, stmt := range file.Stmts {
		s.stmts = append(s.stmts, joined(stmt)...)
	}
	changes := assigned(file)
	for _, stmt := range s.stmts {
		s.assign(stmt, changes)
	}
	return s, nil
}

// assigned counts how often each variable gets a value.
func assigned(file *syntax.File) map[string]int {
	out := map[string]int{}
	syntax.Walk(file, func(part syntax.Node) bool {
		switch p := part.(type) {
		case *syntax.Assign:
			if p.Name != nil {
				out[p.Name.Value]++
			}
		case *syntax.WordIter:
			out[p.Name.Value]++
		}
		return true
	})
	return out
}

func joined(stmt *syntax.Stmt) []*syntax.Stmt {
	if binary, is := stmt.Cmd.(*syntax.BinaryCmd); is && binary.Op == syntax.AndStmt {
		return append(joined(binary.X), joined(binary.Y)...)
	}
	return []*syntax.Stmt{stmt}
}

// assign remembers what a statement that only sets variables sets them to, if nothing else does.
func (s *script) assign(stmt *syntax.Stmt, changes map[string]int) {
	for _, a := range assignments(stmt) {
		value, known := s.literal(a.Value)
		if known && changes[a.Name.Value] == 1 && !a.Append && a.Array == nil && a.Index == nil {
			s.vars[a.Name.Value] = value
		}
	}
}

// assignments of a statement that does nothing else.
func assignments(stmt *syntax.Stmt) []*syntax.Assign {
	if call, is := stmt.Cmd.(*syntax.CallExpr); is && len(call.Args) == 0 {
		return call.Assigns
	}
	return nil
}

// isLiteral: the statement only sets variables, to values that are known.
func (s *script) isLiteral(stmt *syntax.Stmt) bool {
	list := assignments(stmt)
	return len(list) > 0 && !slices.ContainsFunc(list, func(a *syntax.Assign) bool {
		_, known := s.vars[a.Name.Value]
		return !known
	})
}

// literal is what the shell makes of a word, if that is known without running it.
func (s *script) literal(word *syntax.Word) (string, bool) {
	if word == nil {
		return "", true
	}
	known := true
	syntax.Walk(word, func(part syntax.Node) bool {
		switch p := part.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			known = false
		case *syntax.ParamExp:
			_, set := s.vars[p.Param.Value]
			known = known && set
		}
		return known
	})
	if !known {
		return "", false
	}
	value, err := expand.Literal(&expand.Config{Env: expand.FuncEnviron(func(name string) string { return s.vars[name] })}, word)
	return value, err == nil
}

// literals are words whose values are all known.
func (s *script) literals(words []*syntax.Word) ([]string, bool) {
	out := make([]string, len(words))
	for i, word := range words {
		value, known := s.literal(word)
		if !known {
			return nil, false
		}
		out[i] = value
	}
	return out, true
}

// source is the text of a part of the script.
func (s *script) source(n syntax.Node) string { return s.text[n.Pos().Offset():n.End().Offset()] }

// calls tells whether a statement is a call of a command by literal words, `exec` before it or not, and returns the further words.
func calls(stmt *syntax.Stmt, words ...string) (args []*syntax.Word, is bool) {
	call, is := stmt.Cmd.(*syntax.CallExpr)
	if !is {
		return nil, false
	}
	args = call.Args
	if len(args) > 0 && args[0].Lit() == "exec" {
		args = args[1:]
	}
	if len(args) < len(words) {
		return nil, false
	}
	for i, word := range words {
		if args[i].Lit() != word {
			return nil, false
		}
	}
	return args[len(words):], true
}

// mentions tells whether a part of the script refers to a variable.
func mentions(n syntax.Node, variable string) bool {
	found := false
	syntax.Walk(n, func(part syntax.Node) bool {
		if p, is := part.(*syntax.ParamExp); is && p.Param.Value == variable {
			found = true
		}
		return !found
	})
	return found
}

// asCommand makes a command of a script: the words of it where it is one plain command, else a bash that runs it. A pipe into tee keeps
// the exit code of what is before it.
func asCommand(text string) []string {
	s, err := parseScript(text)
	if err == nil && len(s.stmts) == 1 {
		if words, plain := s.plainCall(s.stmts[0]); plain {
			return words
		}
	}
	if err == nil && s.pipesIntoTee() {
		return []string{"/bin/bash", "-o", "pipefail", "-c", text}
	}
	return []string{"/bin/bash", "-c", text}
}

// plainCall are the words of a statement that needs no shell.
func (s *script) plainCall(stmt *syntax.Stmt) ([]string, bool) {
	call, is := stmt.Cmd.(*syntax.CallExpr)
	if !is || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || stmt.Negated || stmt.Background {
		return nil, false
	}
	args, _ := calls(stmt)
	words, known := s.literals(args)
	if !known || len(words) == 0 || slices.ContainsFunc(args, hasPattern) {
		return nil, false
	}
	return words, !isBuiltin(words[0])
}

// hasPattern: the shell would look for files, or for a home.
func hasPattern(word *syntax.Word) bool {
	return slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool {
		lit, is := part.(*syntax.Lit)
		return is && strings.ContainsAny(lit.Value, "*?[{~")
	})
}

// isBuiltin: no program has the name.
func isBuiltin(name string) bool {
	return slices.Contains([]string{"cd", "export", "set", "source", ".", "eval", "ulimit", "trap", "exit", "unset", "wait", ":"}, name)
}

// pipesIntoTee tells whether the script hands the output of a command to tee, and with it the exit code.
func (s *script) pipesIntoTee() bool {
	return slices.ContainsFunc(s.stmts, func(stmt *syntax.Stmt) bool {
		found := false
		syntax.Walk(stmt, func(part syntax.Node) bool {
			if pipe, is := part.(*syntax.BinaryCmd); is && isPipe(pipe) {
				_, tee := calls(pipe.Y, "tee")
				found = found || tee
			}
			return !found
		})
		return found
	})
}

func isPipe(b *syntax.BinaryCmd) bool { return b.Op == syntax.Pipe || b.Op == syntax.PipeAll }

// scriptOf is the script that a container runs by a shell: `bash -c SCRIPT` and its like, split in any way over command and args.
func scriptOf(command, args []string) (text string, login, is bool) {
	words := slices.Concat(command, args)
	if len(words) < 3 || !slices.Contains([]string{"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash"}, words[0]) {
		return "", false, false
	}
	option := words[1]
	if !strings.HasPrefix(option, "-") || strings.HasPrefix(option, "--") || !strings.Contains(option, "c") {
		return "", false, false
	}
	rest := words[2:]
	if len(rest) > 1 && rest[0] == "--" {
		rest = rest[1:]
	}
	return rest[0], strings.Contains(option, "l"), len(rest) == 1
}
