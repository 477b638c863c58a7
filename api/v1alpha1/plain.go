package v1alpha1

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rule is what a name may be made of, in the words of people. Kubernetes answers with a regular expression; lengths are checked apart,
// since they depend on what the name becomes a part of.
type rule struct {
	pattern *regexp.Regexp
	words   string
}

var (
	runName = rule{
		regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`),
		"must be lower-case letters, digits and -, begin with a letter and end with a letter or digit",
	}
	label = rule{
		regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`),
		"must be lower-case letters, digits and -, and begin and end with a letter or digit",
	}
	imageReference = rule{
		regexp.MustCompile(`^([a-zA-Z0-9]+([.-]+[a-zA-Z0-9]+)*(:[0-9]+)?/|\[[0-9a-fA-F:]+\](:[0-9]+)?/)?` + // registry
			`[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*` + // repository
			`(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[A-Za-z0-9_+.-]+:[0-9a-fA-F]{32,})?$`), // tag, digest
		"must be an image such as registry.example/team/trainer:v1: without scheme and blanks, in lower case but for the tag",
	}
)

// CheckName says what is wrong with the name of a run. Its length depends on the run and is not looked at.
func CheckName(name string) error {
	if name == "" {
		return errors.New("is empty")
	}
	if !runName.pattern.MatchString(name) {
		return errors.New(runName.words)
	}
	return nil
}

// must reports a value that breaks a rule.
func must(path *field.Path, value string, r rule) field.ErrorList {
	if r.pattern.MatchString(value) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, r.words)}
}

// plain reports a value that a check of Kubernetes refuses, once and in our words.
func plain(path *field.Path, value any, messages []string, words string) field.ErrorList {
	if len(messages) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, words)}
}

// firstIs begins the detail of a duplicate; the path of the first follows, and becomes its line.
const firstIs = "the first is "

// duplicate reports a value that is there already.
func duplicate(path *field.Path, value string, first *field.Path) field.ErrorList {
	err := field.Duplicate(path, value)
	err.Detail = firstIs + first.String()
	return field.ErrorList{err}
}

// message is the text of a problem that Validate found.
func (l lines) message(err *field.Error) string {
	first, is := strings.CutPrefix(err.Detail, firstIs)
	line := l.of(first)
	if err.Type != field.ErrorTypeDuplicate || !is || line == 0 {
		return err.ErrorBody()
	}
	withLine := *err
	withLine.Detail = fmt.Sprintf("%son line %d", firstIs, line)
	return withLine.ErrorBody()
}
