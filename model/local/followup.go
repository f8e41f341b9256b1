package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// The weights of what a conversation says about the answer to its next question. They were chosen with the tuning part of the everyday questions.
const (
	carriedWeight  = 0.4 // of a term that the question was completed with, relative to one that the user said now
	saidPenalty    = 1.5 // of a sentence that the last answer has said already
	sameDocument   = 1.5 // bonus of a document that the last answer quotes
	minSaid        = 0.9 // share of the words of a sentence that the last answer has, if it quotes the sentence
	minQuoted      = 6   // words of a sentence, stop words not counted, of which that is enough
	minQuotedWords = 3   // of a sentence that shows which document the last answer quotes
	continued      = 3   // bonus of what the last answer quotes, if it has all that the question adds to the last one
)

// conversation is what the turns before a question say about it.
type conversation struct {
	text      string                     // the question as the user asked it; empty: it was not completed
	now       map[string]bool            // its stems; nil: it was not completed
	asked     map[string]bool            // stems of the last question
	answer    string                     // the last answer; empty: there is none
	said      map[string]bool            // its stems; nil: there is none
	documents map[corpus.DocumentID]bool // that the last answer quotes
}

// conversationOf reads the turns before a question.
func conversationOf(l *lang.Language, t model.Task) (c conversation) {
	set := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, stem := range stemsIn(l, s) {
			out[stem] = true
		}
		return out
	}
	if t.Asked != "" {
		c.text, c.now = t.Asked, set(t.Asked)
	}
	for _, m := range slices.Backward(t.History) {
		switch {
		case m.Role == model.Assistant && c.said == nil:
			c.answer, c.said = m.Text, set(m.Text)
		case m.Role == model.User:
			c.asked = set(m.Text)
			return c
		}
	}
	return c
}

// weight returns the factor of the weight of a term.
func (c *conversation) weight(stem string) float64 {
	if c.now != nil && !c.now[stem] {
		return carriedWeight
	}
	return 1
}

// saysNow reports whether the user says all of some stems now, and the question was not completed with one of them.
func (c *conversation) saysNow(stems []string) bool {
	return !slices.ContainsFunc(stems, func(s string) bool { return c.weight(s) < 1 })
}

// quotes reports whether the last answer quotes a sentence, or cells of a row.
func (c *conversation) quotes(one *sentence) bool {
	if c.said == nil {
		return false
	}
	if one.row && len(one.cells) > 1 {
		return c.quotesRow(one)
	}
	if strings.Contains(c.answer, strings.TrimRight(one.text, ".;: ")) {
		return true
	}
	all, said := 0, 0
	for _, stem := range one.stems {
		if stem == "" {
			continue
		}
		if all++; c.said[stem] {
			said++
		}
	}
	return all >= minQuoted && float64(said) >= minSaid*float64(all)
}

// quotesRow reports whether the last answer has the first cell of a row and after it only cells of this row.
func (c *conversation) quotesRow(one *sentence) bool {
	_, rest, ok := strings.Cut(c.answer, one.cells[0]+": ")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(rest, "; ") {
		if !strings.Contains(one.text, strings.TrimRight(part, ". ")) {
			part, _, ok = strings.Cut(part, ". ") // the last one, before the next sentence
			return ok && strings.Contains(one.text, part)
		}
	}
	return true
}

// findQuotes marks the sentences that the last answer quotes, and their documents.
func (c *conversation) findQuotes(passages []model.Passage, sentences [][]*sentence) {
	c.documents = map[corpus.DocumentID]bool{}
	for i, cs := range sentences {
		for _, one := range cs {
			one.quoted = c.quotes(one)
			if one.quoted && len(one.words) >= minQuotedWords {
				c.documents[passages[i].Chunk.Document] = true
			}
		}
	}
}

// weighTurn adds to the score of each sentence what it gains or loses by the conversation. What the last answer quotes gains if it has what the question
// adds to the last one, and no other sentence has more of it: another column of a row. If another sentence has more, such as another row of the table, that is
// asked for. A question for what comes next is answered by the sentence after it.
func (q *question) weighTurn(passages []model.Passage, byPassage [][]*sentence) {
	if q.before.said == nil {
		return
	}
	then := q.lang.HasPhrase(lang.Then, cmp.Or(q.before.text, q.text))
	most := 0.0
	added := map[*sentence]float64{}
	for _, cs := range byPassage {
		for _, c := range cs {
			added[c] = q.addedShare(c)
			most = max(most, added[c])
		}
	}
	for i, cs := range byPassage {
		for k, c := range cs {
			if q.before.documents[passages[i].Chunk.Document] {
				c.score += sameDocument
			}
			if then && k > 0 && cs[k-1].quoted && !c.row {
				c.score += continued
			}
			if c.row && most > 0 && added[c] == 0 { // its cells only have what the conversation is about
				c.score -= rankWeights[rowExact] * c.evid[rowExact]
			}
			switch {
			case c.quoted && !then && most > 0 && added[c] >= most:
				c.score += continued * most
			case c.quoted && q.before.now != nil: // otherwise it may be the same question again
				c.score -= saidPenalty
			}
		}
	}
}

// addedShare returns the share of the terms that the question adds to the last one, by weight, that a sentence has, or a row with the names of its columns.
func (q *question) addedShare(c *sentence) float64 {
	columns := make([]float64, len(q.terms))
	for _, name := range c.columns {
		q.mark(columns, name)
	}
	sum, all := 0.0, 0.0
	for i, t := range q.terms {
		if !q.before.asked[t.Stem] && q.before.weight(t.Stem) == 1 {
			sum, all = sum+q.plain[i]*max(c.covers[i], columns[i]), all+q.plain[i]
		}
	}
	return sum / max(all, 1e-9)
}
