package graph

import (
	"math"
	"strings"
	"unicode"
)

// Font sizes, and the distance between lines of text.
const (
	titleSize = 20
	nameSize  = 13
	lineSize  = 11
)

// lineHeight leaves a third of the size between lines.
func lineHeight(size int) int { return size + (size+2)/3 }

// widthOf is at least the width of a text in DejaVu Sans, the widest of the fonts that stand for sans-serif in practice.
func widthOf(text string, size int, bold bool) int {
	em := 0.0
	for _, r := range text {
		em += widthOfRune(r)
	}
	if bold {
		em *= 1.13
	}
	return int(math.Ceil(em * float64(size)))
}

func widthOfRune(r rune) float64 {
	switch {
	case strings.ContainsRune("fijlrtI.,:;'|!()[]/\\- ", r):
		return 0.42
	case strings.ContainsRune("mMW@%", r) || r > unicode.MaxLatin1:
		return 1.0
	case unicode.IsUpper(r) || strings.ContainsRune("w+=<>~#&", r):
		return 0.85
	default:
		return 0.65
	}
}

// wrap breaks a text into lines of at most a width: behind blanks and punctuation where that is possible, anywhere where it is not.
func wrap(text string, width, size int, bold bool) []string {
	var lines []string
	line := ""
	for _, word := range words(text) {
		for widthOf(strings.TrimRight(line+word, " "), size, bold) > width {
			if line == "" {
				line, word = fitting(word, width, size, bold)
			}
			lines, line = append(lines, strings.TrimRight(line, " ")), ""
		}
		line += word
	}
	if line = strings.TrimRight(line, " "); line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// words are the parts of a text between which a line may break.
func words(text string) []string {
	return strings.FieldsFunc(strings.NewReplacer(
		" ", " \n", "-", "-\n", "_", "_\n", "/", "/\n", ".", ".\n", ",", ",\n", "=", "=\n").Replace(text),
		func(r rune) bool { return r == '\n' })
}

// fitting splits a word that is wider than a line. The first part has at least one letter.
func fitting(word string, width, size int, bold bool) (first, rest string) {
	runes := []rune(word)
	n := 1
	for n < len(runes) && widthOf(string(runes[:n+1]), size, bold) <= width {
		n++
	}
	return string(runes[:n]), string(runes[n:])
}
