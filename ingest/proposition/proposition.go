// Package proposition makes sentences self-contained. Without a model, it puts headings before sentences that begin with a pronoun, items of
// lists, rows of tables and other text that is not a sentence; a model may also replace pronouns. Dense X Retrieval (Chen et al. 2023,
// arXiv:2312.06648) calls such sentences propositions, and finds that they improve retrieval.
//
// A wrong proposition is worse than none, since it states what the document does not.
package proposition

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Generator makes the sentences of documents self-contained. Its methods may be called concurrently.
type Generator interface {
	// Name returns the name and version of the method. If it changes, documents are ingested again.
	Name() string
	// Generate sets the Proposition of the sentences among the chunks of one document, which are in order. It is "" if the sentence is
	// self-contained, and else at most [MaxGrowth] bytes longer than the sentence. The error is that of ctx.
	Generate(ctx context.Context, chunks []corpus.Chunk) error
}

// MaxGrowth is how many bytes a proposition may be longer than its sentence.
const MaxGrowth = 200

// None is a [Generator] that makes no propositions.
type None struct{}

// Name implements [Generator].
func (None) Name() string { return "none" }

// Generate implements [Generator].
func (None) Generate(ctx context.Context, _ []corpus.Chunk) error { return ctx.Err() }

// Rules is a [Generator] without a model. It puts the title and the innermost heading before items of lists, fields, lines that are not
// sentences, and sentences that begin with a pronoun, and the names of the columns before the cells of a table row. It takes linear time.
type Rules struct{}

// Name implements [Generator].
func (Rules) Name() string { return "rules-2" }

// Generate implements [Generator].
func (Rules) Generate(ctx context.Context, chunks []corpus.Chunk) error {
	passages := make(map[corpus.ChunkID]string, len(chunks)/8)
	w := walker{}
	for i := range chunks {
		c := &chunks[i]
		switch c.Level {
		case corpus.Passage:
			passages[c.ID] = c.Text
		case corpus.Sentence:
			if c.Ordinal%128 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if c.Parent != w.passage {
				w.passage, w.language = c.Parent, lang.Detect(passages[c.Parent])
			}
			c.Proposition = w.propose(c)
		}
	}
	return ctx.Err()
}

// walker processes the sentences of a document in order.
type walker struct {
	passage  corpus.ChunkID
	language *lang.Language // of the passage; nil: unknown
	headings []string
	title    words    // of the document
	heading  words    // the innermost
	header   []string // of the current table
}

// propose returns the proposition of a sentence.
func (w *walker) propose(c *corpus.Chunk) string {
	if c.Ordinal == 0 {
		if w.title = wordsOf(inLine(c.Title)); isFileName(w.title.text) {
			w.title = words{}
		}
	}
	if !slices.Equal(c.Headings, w.headings) {
		w.headings, w.header, w.heading = c.Headings, nil, words{}
		if n := len(c.Headings); n > 0 {
			w.heading = wordsOf(strings.TrimRight(inLine(c.Headings[n-1]), ":—–- "))
		}
	}
	s := strings.TrimSpace(c.Text)
	if !isCode(s) && lang.IsTableRow(s) && !strings.Contains(s, "\n") {
		return w.row(c, s)
	}
	w.header = nil
	if isCode(s) {
		return ""
	}
	if body, listed := trimMarker(s); listed || isField(body) || !closed(body) || w.refersBack(body) {
		return bounded(w.withHeadings(body), c)
	}
	return ""
}

// refersBack reports whether a sentence, or what follows its first comma, begins with a pronoun: "In 1890, he moved."
func (w *walker) refersBack(s string) bool {
	s = lang.Truncate(s, maxLine)
	_, rest, _ := strings.Cut(s, ", ")
	return w.beginsWithPronoun(s) || w.beginsWithPronoun(rest)
}

func (w *walker) beginsWithPronoun(s string) bool {
	for word := range lang.AllWords(s) {
		return w.language != nil && w.language.Has(lang.Pronouns, word.Text)
	}
	return false
}
