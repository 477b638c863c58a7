package v1alpha1

import (
	"maps"
	"slices"
	"strings"
)

// nearest is the known name that a misspelt one most likely meant, or "".
func nearest[V any](name string, known map[string]V) string {
	best, bestDistance := "", min(max(len(name)/2, 1), 3)+1 // half the word may be wrong, but no more than three letters
	for _, candidate := range sortedKeys(known) {
		d := distance(strings.ToLower(name), strings.ToLower(candidate))
		if d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
