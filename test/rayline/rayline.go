// Package rayline joins a command to a line as `ray job submit` does. The head gives the line to `sh -c`.
//
// Ray's CLI joins by Python's subprocess.list2cmdline, whose rules are those of Windows and not of a shell: what a shell
// would expand, it does expand on the head. Who submits a command has to know that; see manifests/pod/submit.sh.
package rayline

import "strings"

// Join is list2cmdline.
func Join(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

// quote puts a word with blanks, and an empty one, into double quotes. A double quote in it gets a backslash, and
// backslashes that stand before a double quote are doubled.
func quote(word string) string {
	var out strings.Builder
	backslashes := 0
	for _, c := range []byte(word) {
		switch c {
		case '\\':
			backslashes++
		case '"':
			out.WriteString(strings.Repeat(`\`, backslashes) + `\`)
			backslashes = 0
		default:
			backslashes = 0
		}
		out.WriteByte(c)
	}
	if word != "" && !strings.ContainsAny(word, " \t") {
		return out.String()
	}
	return `"` + out.String() + strings.Repeat(`\`, backslashes) + `"`
}
