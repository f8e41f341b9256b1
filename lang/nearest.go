package lang

import "strings"

// Nearest returns the candidate that a misspelled word most likely means, or "" if none is close. A candidate is close if it
// differs in at most the given number of edits, or only in case, dashes and underscores. A word that is the beginning of a
// candidate differs from it in one edit. Words over 64 bytes have no close candidate.
func Nearest(word string, candidates []string, edits int) string {
	if word == "" || len(word) > 64 {
		return ""
	}
	best, least := "", edits+1
	for _, c := range candidates {
		d := distance(word, c)
		if plain(word) == plain(c) {
			d = 0
		} else if strings.HasPrefix(c, word) {
			d = 1
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// plain returns a name in lower case without dashes and underscores.
func plain(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
}

// distance counts the edits between two short words: characters inserted, deleted, replaced or swapped with their neighbour
// (the restricted Damerau-Levenshtein distance).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
