package local

import (
	"slices"

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
	minQuotedWords = 3   // of a sentence that shows which document the last answer quotes
)

// conversation is what the turns before a question say about it.
type conversation struct {
	now       map[string]bool            // stems of the question as the user asked it; nil: it was not completed
	said      map[string]bool            // stems of the last answer; nil: there is none
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
		c.now = set(t.Asked)
	}
	for _, m := range slices.Backward(t.History) {
		if m.Role == model.Assistant {
			c.said = set(m.Text)
			break
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

// hasSaid reports whether the last answer quotes a sentence.
func (c *conversation) hasSaid(one *sentence) bool {
	if c.said == nil {
		return false
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
	return all > 0 && float64(said) >= minSaid*float64(all)
}

// findDocuments sets the documents that the last answer quotes.
func (c *conversation) findDocuments(passages []model.Passage, sentences [][]*sentence) {
	c.documents = map[corpus.DocumentID]bool{}
	for i, cs := range sentences {
		if slices.ContainsFunc(cs, func(one *sentence) bool { return len(one.words) >= minQuotedWords && c.hasSaid(one) }) {
			c.documents[passages[i].Chunk.Document] = true
		}
	}
}

// score returns what a sentence of a document gains or loses.
func (c *conversation) score(d corpus.DocumentID, one *sentence) (sum float64) {
	if c.documents[d] {
		sum += sameDocument
	}
	if c.now != nil && c.hasSaid(one) { // otherwise it may be the same question again
		sum -= saidPenalty
	}
	return sum
}
