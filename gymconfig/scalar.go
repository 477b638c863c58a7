package gymconfig

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// OmegaConf reads YAML 1.1 by PyYAML, with its own idea of floats (1e3 is one) and without dates. The patterns say which
// plain scalars are not strings; the first that matches wins.
var (
	yamlBool  = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	yamlNull  = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	yamlInt   = regexp.MustCompile(`^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	yamlFloat = regexp.MustCompile(`^(?:` +
		`[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|` +
		`[-+]?[0-9]+(?:_[0-9]+)*[eE][-+]?[0-9]+|` +
		`\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|` +
		`[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// Tags of YAML that a recipe can hold.
const (
	tagNull  = "!!null"
	tagBool  = "!!bool"
	tagInt   = "!!int"
	tagFloat = "!!float"
	tagStr   = "!!str"
	tagMerge = "!!merge"
	tagValue = "!!value" // of a bare =, which PyYAML cannot load
)

// plainTag is the type of a plain scalar.
func plainTag(text string) string {
	switch {
	case yamlBool.MatchString(text):
		return tagBool
	case yamlFloat.MatchString(text):
		return tagFloat
	case yamlInt.MatchString(text):
		return tagInt
	case text == "<<":
		return tagMerge
	case yamlNull.MatchString(text):
		return tagNull
	case text == "=":
		return tagValue
	default:
		return tagStr
	}
}

// constructScalar makes the value of a scalar with that tag.
func constructScalar(tag, text string) (any, error) {
	switch tag {
	case tagNull:
		return nil, nil
	case tagStr:
		return text, nil
	case tagBool:
		switch strings.ToLower(text) {
		case "yes", "true", "on":
			return true, nil
		case "no", "false", "off":
			return false, nil
		}
	case tagInt:
		if value, ok := constructInt(text); ok {
			return value, nil
		}
	case tagFloat:
		if value, ok := constructFloat(text); ok {
			return value, nil
		}
	}
	return nil, fmt.Errorf("%q cannot be read as %s; put it in quotes if it is a string", text, tag)
}

// sign takes the sign and the underscores from a number.
func sign(text string) (rest string, negative bool) {
	rest = strings.ReplaceAll(text, "_", "")
	if strings.HasPrefix(rest, "-") {
		return rest[1:], true
	}
	return strings.TrimPrefix(rest, "+"), false
}

func constructInt(text string) (*big.Int, bool) {
	digits, negative := sign(text)
	value, ok := new(big.Int), true
	switch {
	case strings.Contains(digits, ":"):
		for _, part := range strings.Split(digits, ":") {
			digit, err := strconv.ParseInt(part, 10, 64)
			ok = ok && err == nil
			value.Add(value.Mul(value, big.NewInt(60)), big.NewInt(digit))
		}
	case strings.HasPrefix(digits, "0b"):
		_, ok = value.SetString(digits[2:], 2)
	case strings.HasPrefix(digits, "0x"):
		_, ok = value.SetString(digits[2:], 16)
	case len(digits) > 1 && digits[0] == '0':
		_, ok = value.SetString(digits, 8)
	default:
		_, ok = value.SetString(digits, 10)
	}
	if negative {
		value.Neg(value)
	}
	return value, ok
}

func constructFloat(text string) (float64, bool) {
	digits, negative := sign(strings.ToLower(text))
	value, ok := 0.0, true
	switch {
	case digits == ".inf":
		value = math.Inf(1)
	case digits == ".nan":
		value = math.NaN()
	case strings.Contains(digits, ":"):
		for _, part := range strings.Split(digits, ":") {
			digit, err := strconv.ParseFloat(part, 64)
			ok = ok && err == nil
			value = value*60 + digit
		}
	default:
		value, ok = pythonFloat(digits)
	}
	if negative {
		value = -value
	}
	return value, ok
}

// pythonFloat reads decimal digits; what is too large is infinite, as in Python.
func pythonFloat(digits string) (float64, bool) {
	value, err := strconv.ParseFloat(digits, 64)
	return value, err == nil || math.IsInf(value, 0)
}
