package local

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// contradictions returns the weight of the question's words whose antonym is said instead, and whether a word that flips the
// meaning is missing.
func (q *question) contradictions(said map[string]struct{}) (opposed, turned float64) {
	asked := map[string]struct{}{}
	for _, w := range q.words {
		asked[stemIn(q.lang, w.Text)] = struct{}{}
	}
	for _, w := range q.words {
		if _, ok := said[w.Text]; ok {
			continue
		}
		if flipsMeaning(w.Text) {
			turned = 1
		}
		s := stemIn(q.lang, w.Text)
		if _, ok := said[s]; ok {
			continue
		}
		for _, o := range opposites[s] {
			_, there := said[o]
			if _, also := asked[o]; there && !also {
				opposed++
				break
			}
		}
	}
	return opposed, turned
}

// hasNegation reports whether one of the words negates.
func hasNegation(l *lang.Language, words []lang.Token) bool {
	return slices.ContainsFunc(words, func(w lang.Token) bool {
		return l.Has(lang.Negations, w.Text) || l == lang.English && strings.HasSuffix(w.Text, "n't")
	})
}

// correctTypos replaces an unknown term that no passage has by a word of the passages with a small edit distance.
func (m *Model) correctTypos(q *question, byPassage [][]*sentence) {
	held := map[string]struct{}{}
	for _, cs := range byPassage {
		hold := func(stems []string) {
			for _, s := range stems {
				if len(held) < maxTypoWords {
					held[s] = struct{}{}
				}
			}
		}
		heading := ""
		for i, c := range cs {
			hold(c.stems)
			if c.heading != heading {
				heading = c.heading
				hold(stemsIn(q.lang, heading))
			}
			if c.row && (i == 0 || !cs[i-1].row) {
				hold(stemsIn(q.lang, strings.Join(c.columns, " ")))
			}
		}
	}
	for i, t := range q.terms {
		known := false
		if q.lang == lang.English {
			row, ok := m.table.row(t.Word)
			known = ok && m.table.rank(row) < maxKnown // rarer ones may be mistakes that many make
		}
		_, there := held[t.Stem]
		if known || there || len(t.Word) < 5 || len(t.Stem) < 4 || len(t.Stem) > 24 || strings.ContainsAny(t.Word, "0123456789") {
			continue
		}
		most := 1
		if len(t.Stem) >= 8 {
			most = 2
		}
		best, found := most, ""
		for h := range held {
			if q.lang != lang.English && utf8.RuneCountInString(t.Stem) < minReplaced && len(h) == len(t.Stem) && !sameLetters(t.Stem, h) {
				continue // setzt is another word than sitzt
			}
			if n := editDistance(t.Stem, h, best); n < best || n == best && (found == "" || h < found) {
				best, found = n, h
			}
		}
		if _, taken := q.index[found]; len(found) >= 4 && !taken {
			delete(q.index, t.Stem)
			q.index[found] = i
			q.terms[i].Stem = found
		}
	}
}

// minReplaced is the length in characters from which a stem of another language than English may have a wrong letter: no list of its words shows which are
// written correctly. Shorter ones may have one too many, one too few, or two in the wrong order.
const minReplaced = 6

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// maxKnown is the rank of the rarest English word that is taken as written.
const maxKnown = 25_000

// maxTypoWords is the maximum number of words that are compared.
const maxTypoWords = 20000

// hasStems reports whether the content words from k on have these stems.
func (c *sentence) hasStems(k int, words []string) bool {
	for _, w := range words {
		for k < len(c.stems) && c.stems[k] == "" {
			k++
		}
		if k == len(c.stems) || c.stems[k] != w {
			return false
		}
		k++
	}
	return true
}

// correctQuestionWord corrects a misspelled question word at the beginning of an English question: wat is the price? It returns the question unchanged if it
// has a correct question word, or if its first word is a known word, is in the passages, or is not one mistake away from a question word.
func (m *Model) correctQuestionWord(s string, passages []model.Passage) string {
	words := lang.Words(s)
	if len(words) < 3 || len(words[0].Text) < 3 {
		return s
	}
	first := words[0]
	if row, ok := m.table.row(first.Text); ok && m.table.rank(row) < maxKnown || lang.English.IsStopWord(first.Text) {
		return s
	}
	if slices.ContainsFunc(words, func(w lang.Token) bool { return lang.English.Has(lang.QuestionWords, w.Text) }) {
		return s
	}
	asking := slices.DeleteFunc(lang.English.List(lang.QuestionWords), func(w string) bool { return strings.Contains(w, "'") })
	word := lang.Nearest(first.Text, asking, 1)
	if word == "" || slices.ContainsFunc(passages, func(p model.Passage) bool {
		return strings.Contains(strings.ToLower(p.Chunk.Title+"\n"+p.Chunk.Text), first.Text)
	}) {
		return s
	}
	return s[:first.Start] + word + s[first.End:]
}
