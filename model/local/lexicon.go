package local

import (
	_ "embed"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// stemIn reduces a word to its stem in a language: without accents and, in English, with irregular forms replaced by their base.
func stemIn(l *lang.Language, word string) string {
	if l != lang.English {
		return l.Stem(word)
	}
	word = strings.TrimSuffix(lang.FoldAccents(word), "'s") // women's are women, too
	if base, ok := irregular[word]; ok {
		word = base
	}
	return root(word)
}

// root stems a word. The name of an agent becomes the stem of its verb.
func root(word string) string {
	s := lang.Stem(word)
	if doer, ok := strings.CutSuffix(s, "or"); ok && len(s) >= 7 {
		return doer // who directed is the director
	}
	return s
}

// stemsIn returns the stems of the words of s without stop words.
func stemsIn(l *lang.Language, s string) []string {
	words := lang.Words(s)
	out := make([]string, 0, len(words))
	for _, w := range words {
		if !l.IsStopWord(w.Text) {
			out = append(out, stemIn(l, w.Text))
		}
		for _, part := range lang.IdentifierParts(s[w.Start:w.End]) {
			out = append(out, stemIn(l, part))
		}
	}
	return out
}

// lexicon.txt holds irregular forms (each line a base and its forms), antonyms (each line both sides) and words that flip the
// meaning of a statement. It was written for this package.
//
//go:embed lexicon.txt
var lexiconText string

var irregular, opposites, turns = readLexicon(lexiconText)

// readLexicon returns the base of irregular forms, the antonyms by stem, and the words that flip the meaning of a statement.
func readLexicon(s string) (forms map[string]string, against map[string][]string, turning map[string]struct{}) {
	forms, against, turning = map[string]string{}, map[string][]string{}, map[string]struct{}{}
	section := ""
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case strings.HasPrefix(f[0], "#"):
			section = strings.TrimSuffix(f[1], ":")
		case section == "forms":
			for _, x := range f[1:] {
				forms[x] = f[0]
			}
		case section == "turns":
			for _, x := range f {
				turning[x] = struct{}{}
			}
		}
	}
	stemmed := func(words string) []string {
		out := strings.Fields(words)
		for i, w := range out {
			if base, ok := forms[w]; ok {
				w = base
			}
			out[i] = root(w)
		}
		return out
	}
	for line := range strings.Lines(s) {
		one, other, ok := strings.Cut(line, "|")
		if !ok || line[0] == '#' {
			continue
		}
		as, bs := stemmed(one), stemmed(other)
		for _, a := range as {
			against[a] = append(against[a], bs...)
		}
		for _, b := range bs {
			against[b] = append(against[b], as...)
		}
	}
	return forms, against, turning
}

// flipsMeaning reports whether a word flips the meaning of a statement. Superlatives do, too.
func flipsMeaning(word string) bool {
	if _, ok := turns[word]; ok {
		return true
	}
	return len(word) > 5 && strings.HasSuffix(word, "est")
}

// editDistance returns the number of insertions, deletions, replacements and swaps of adjacent letters that make b from a, or more than most if
// there are more: F. Damerau, A Technique for Computer Detection and Correction of Spelling Errors, 1964.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	older, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		low := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], older[j-2]+1)
			}
			low = min(low, cur[j])
		}
		if low > most {
			return most + 1
		}
		older, prev, cur = prev, cur, older
	}
	return prev[len(b)]
}
