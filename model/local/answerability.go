package local

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// answerSignals are the features for whether a sentence is an answer at all. Unanswerable questions mostly resemble the text:
// they have another name, an antonym or a negation.
type answerSignals struct {
	rarest          float64 // weight of the rarest term that is not in the sentence, title or headings
	missing         float64 // weight of the terms that are not in adjacent sentences, either
	elsewhere       float64 // weight of those that are elsewhere in the passage
	names           float64 // number of names and numbers of the question that are not in the sentence
	unknownNames    float64 // number of those that are in no passage
	opposed         float64 // number of missing terms with an antonym in the sentence
	flipped         float64 // a word that flips the meaning, such as first or only, is in the question and not in the sentence
	negated         float64 // the question is negated
	negationMissing float64 // the question is negated and the sentence is not
	negationMatched float64 // both negate the same
	asked           float64 // number of terms of the question
	unfit           float64 // the sentence has nothing of the requested type
	copied          float64 // word pairs in the longest run that question and sentence share
	around          float64
	similar         float64
	context         float64
	wide            float64
}

// pAnswers returns the probability that a relevant sentence holds the answer: a logistic regression, fitted to 725 answerable
// and 775 unanswerable questions about the same paragraphs (average of two halves, rounded). Fitted to one half, it abstains on
// 46 of 100 unanswerable and 13 of 100 answerable questions of the other. TestFitting computes this. A copy of the question's
// words counts against an answer, because trick questions are made from sentences.
func (d answerSignals) pAnswers() float64 {
	return logistic(-d.rarest - 1.45*d.elsewhere - 0.4*d.names - d.unknownNames - 1.5*d.opposed - 1.8*d.flipped - 1.6*d.negated -
		1.35*d.negationMissing + 1.45*d.negationMatched + 0.2*d.asked - 0.7*d.unfit - 0.12*d.copied + 0.45*d.similar + 0.75*d.context - 0.9)
}

// pRelevant returns the probability that the sentence is about the subject, fitted to the same questions with paragraphs of
// other subjects. The constant is one above the fitted one, since searches seldom find such paragraphs.
func (d answerSignals) pRelevant() float64 {
	return logistic(2.35*d.rarest - 0.2*d.names - 1.1*d.unknownNames + 3.7*d.around + 2.6*d.similar + 3.1*d.context + 3.5*d.wide - 6.9)
}

// answerability returns the probability that the sentence answers the question, for a set of questions half of which have no
// answer.
func (d answerSignals) answerability() float64 { return d.pAnswers() * d.pRelevant() }

// minAnswerability is the answerability that an answer needs: eight of nine answerable questions reach it.
const minAnswerability = 0.26

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// signals computes the features of a sentence. A linked passage, where one names the title of the other, counts as said, since
// an answer may take two sentences.
func (q *question) signals(c *sentence, all []*passageView) answerSignals {
	r := all[c.passage]
	d := answerSignals{asked: float64(len(q.terms)), context: c.evid.context, similar: c.evid.similar, around: c.evid.around, wide: c.evid.wide}
	nearby := [][]float64{c.covers, r.cs[max(0, c.at-1)].covers, r.cs[min(len(r.cs)-1, c.at+1)].covers}
	for _, o := range all {
		if r.mentionsTitleOf(o) || o.mentionsTitleOf(r) {
			nearby = append(nearby, o.wide)
		}
	}
	lacks := func(i int, covers ...[]float64) bool {
		for _, x := range covers {
			if x[i] == 1 {
				return false
			}
		}
		return c.over[i] != 1
	}
	said := map[string]struct{}{}
	for _, w := range c.words {
		said[w.Text] = struct{}{}
		said[stem(w.Text)] = struct{}{}
	}
	for i, w := range q.plain {
		if lacks(i, c.covers) && lacks(i, nearby[3:]...) {
			d.rarest = max(d.rarest, w)
		}
		if lacks(i, nearby...) {
			d.missing += w
			if r.wide[i] == 1 {
				d.elsewhere += w
			}
		}
	}
	for _, i := range q.named {
		if lacks(i, c.covers) && lacks(i, nearby[3:]...) {
			d.names++
		}
		nowhere := true
		for _, o := range all {
			nowhere = nowhere && o.wide[i] != 1
		}
		if nowhere {
			d.unknownNames++
		}
	}
	d.opposed, d.flipped = q.contradictions(said)
	_, longest := q.phrases(c)
	d.copied = float64(longest)
	if (q.hasType() || q.kind == reasonKind) && c.evid.fit == 0 {
		d.unfit = 1
	}
	if q.negated {
		d.negated = 1
		if !hasNegation(c.words) {
			d.negationMissing = 1
		}
		for s := range negatedStems(c.words) {
			if _, same := q.negatedTerms[s]; same {
				d.negationMatched = 1
			}
		}
	}
	return d
}

// contradictions returns the weight of the question's words whose antonym is said instead, and whether a word that flips the
// meaning is missing.
func (q *question) contradictions(said map[string]struct{}) (opposed, turned float64) {
	asked := map[string]struct{}{}
	for _, w := range q.words {
		asked[stem(w.Text)] = struct{}{}
	}
	for _, w := range q.words {
		if _, ok := said[w.Text]; ok {
			continue
		}
		if flipsMeaning(w.Text) {
			turned = 1
		}
		s := stem(w.Text)
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

// negatedStems returns the stems of the two content words after each negation.
func negatedStems(words []lang.Token) map[string]struct{} {
	out := map[string]struct{}{}
	left := 0
	for _, w := range words {
		switch {
		case denial(w.Text):
			left = 2
		case left > 0 && !lang.IsStopWord(w.Text):
			out[stem(w.Text)] = struct{}{}
			left--
		}
	}
	return out
}

// correctTypos replaces an unknown term that no passage has by a word of the passages with a small edit distance.
func (m *Model) correctTypos(q *question, byPassage [][]*sentence) {
	held := map[string]struct{}{}
	for _, cs := range byPassage {
		for _, c := range cs {
			for _, s := range c.stems {
				if len(held) < maxTypoWords {
					held[s] = struct{}{}
				}
			}
		}
	}
	for i, t := range q.terms {
		_, known := m.table.row(t.Word)
		_, there := held[t.Stem]
		if known || there || len(t.Stem) < 5 || len(t.Stem) > 24 || strings.ContainsAny(t.Word, "0123456789") {
			continue
		}
		most := 1
		if len(t.Stem) >= 8 {
			most = 2
		}
		best, found := most, ""
		for h := range held {
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

// maxTypoWords is the maximum number of words that are compared.
const maxTypoWords = 20000

// mentionsTitleOf reports whether a passage contains the title of the document of another passage.
func (r *passageView) mentionsTitleOf(o *passageView) bool {
	if len(o.title) == 0 || slices.Equal(r.title, o.title) {
		return false
	}
	return slices.ContainsFunc(r.cs, func(c *sentence) bool { return c.names(o) })
}

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
