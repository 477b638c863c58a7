package v1alpha1

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// InvalidError is every problem of a Run file, in the order of its lines.
type InvalidError struct{ Problems []Problem }

// Problem is one mistake in a Run file.
type Problem struct {
	Line    int    // 0 when the Run did not come from a file
	Field   string // e.g. spec.clusters[0].head.command
	Message string
}

func (p Problem) String() string {
	text := p.Message
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	if p.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", p.Line, text)
}

func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// asError sorts problems by line; no problems is no error.
func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &InvalidError{Problems: problems}
}

// withLines turns the problems that Validate found into those of the file.
func (l lines) withLines(errs field.ErrorList) []Problem {
	problems := make([]Problem, len(errs))
	for i, err := range errs {
		problems[i] = Problem{Line: l.of(err.Field), Field: err.Field, Message: l.message(err)}
	}
	return problems
}

// lines maps the path of a field to the line of its key.
type lines map[string]int

// of finds the line of a path, or of the nearest parent that the file has: a missing field is reported where it belongs.
func (l lines) of(path string) int {
	for path != "" {
		if line, ok := l[path]; ok {
			return line
		}
		path = parent(path)
	}
	return l[""]
}

// parent cuts the last element off a path as field.Path writes it.
func parent(path string) string {
	if strings.HasSuffix(path, "]") {
		return path[:max(strings.LastIndexByte(path, '['), 0)]
	}
	return path[:max(strings.LastIndexByte(path, '.'), 0)]
}
