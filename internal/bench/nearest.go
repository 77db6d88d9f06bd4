package bench

import (
	"slices"
	"strings"
)

// Nearest returns the choice that differs least from word (single-byte edits,
// case aside), or "" when none is near enough to be what was meant.
func Nearest(word string, choices []string) string {
	best, bestAt := "", max(2, len(word)/3)+1
	for _, c := range choices {
		if d := editDistance(strings.ToLower(word), strings.ToLower(c)); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// DidYouMean words the end of a message about an unknown word: the nearest
// choice if there is one, else the choices in order, the first dozen at most.
func DidYouMean(word string, choices []string) string {
	if len(word) > 64 {
		word = word[:64]
	}
	if n := Nearest(word, choices); n != "" {
		return "did you mean " + n + "?"
	}
	sorted := slices.Sorted(slices.Values(choices))
	if len(sorted) > 12 {
		sorted = append(sorted[:12], "...")
	}
	return "allowed are " + strings.Join(sorted, ", ")
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, cost)
		}
	}
	return row[len(b)]
}
