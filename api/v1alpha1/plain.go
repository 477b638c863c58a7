package v1alpha1

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What names may be made of, in the words of people rather than in regular expressions.
const (
	ruleRunName   = "must be lower-case letters, digits and -, begin with a letter and end with a letter or digit"
	ruleName      = "must be lower-case letters, digits and -, and begin and end with a letter or digit"
	ruleSubdomain = "must be lower-case letters, digits, - and ., and begin and end with a letter or digit"
	ruleLabel     = "must be letters, digits, -, _ and ., and begin and end with a letter or digit"
	ruleEnv       = "must be letters, digits, _, - and ., and not begin with a digit"
	ruleKey       = "must be letters, digits, -, _ and ."
	rulePort      = "must be at most 15 lower-case letters, digits and single -, with at least one letter, and begin and end with a letter or digit"
)

// CheckName says what is wrong with the name of a run; its length depends on the run and is not looked at.
func CheckName(name string) error {
	if name == "" {
		return errors.New("is empty")
	}
	if !fits(name, validation.IsDNS1035Label) {
		return errors.New(ruleRunName)
	}
	return nil
}

// fits checks the letters of a name and not its length.
func fits(name string, check func(string) []string) bool {
	for len(name) > 60 { // a cut name of wrong letters stays one, but for the last
		if last := name[len(name)-1]; last == '-' || last == '.' {
			return false
		}
		name = name[:30] + name[31:]
	}
	return len(check(name)) == 0
}

// plain reports in plain words a value that a check of Kubernetes refuses, once.
func plain(path *field.Path, value any, messages []string, rule string) field.ErrorList {
	if len(messages) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, rule)}
}
