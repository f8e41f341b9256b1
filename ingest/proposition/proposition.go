// Package proposition makes sentences self-contained. It replaces a pronoun subject by its antecedent, and puts headings before items of
// lists, rows of tables and other text that is not a sentence. Dense X Retrieval (Chen et al. 2023, arXiv:2312.06648) calls such sentences
// propositions, and finds that they improve retrieval.
//
// A wrong proposition is worse than none, since it states what the document does not. If the antecedent is uncertain, the pronoun is kept
// and headings are put before the sentence.
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

// shortPassage is the size in bytes below which a passage has the language of the passage before it.
const shortPassage = 300

// Rules is a [Generator] without a model. It resolves subjects that are he, she, it or they, their possessives, or "the" or "this" with a
// noun. The antecedent is the subject of the document or section, according to its title and a sentence, or the subject of the sentence
// before. It only resolves English pronouns. In other languages, it only adds headings. It takes linear time.
type Rules struct{}

// Name implements [Generator].
func (Rules) Name() string { return "rules-1" }

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
			if !w.begun {
				w.begin(c.Title, chunks[i:])
			}
			if c.Parent != w.passage {
				w.passage, w.body = c.Parent, passages[c.Parent]
				w.english = english(w.body) || w.english && len(w.body) < shortPassage
			}
			c.Proposition = w.propose(c)
		}
	}
	return ctx.Err()
}

// walker processes the sentences of a document in order.
type walker struct {
	begun    bool
	title    string
	he, she  int // number of pronouns at the beginning of the document
	doc      *entity
	headings []string
	first    bool // the next sentence is the first of its section
	topic    *entity
	passage  corpus.ChunkID
	body     string // the passage's text
	english  bool

	before *reading // the sentence before, if it is in the same section
	focus  *entity  // the subject of that sentence
	lost   string   // the last pronoun that could not be resolved
	header []string // of the current table
}

// begin sets the subject of the document and counts its pronouns.
func (w *walker) begin(title string, chunks []corpus.Chunk) {
	w.begun, w.first = true, true
	w.title = strings.Join(strings.Fields(lang.Truncate(title, 4*maxLabel)), " ")
	w.doc = titled(w.title)
	n := 0
	for i := range chunks {
		if chunks[i].Level != corpus.Sentence {
			continue
		}
		for _, t := range lang.Words(lang.Truncate(chunks[i].Text, readBytes)) {
			switch t.Text {
			case "he", "him", "his":
				w.he++
			case "she", "her", "hers":
				w.she++
			}
		}
		if n++; n == 100 {
			break
		}
	}
}

// propose returns the proposition of a sentence.
func (w *walker) propose(c *corpus.Chunk) string {
	if !slices.Equal(c.Headings, w.headings) {
		w.section(c.Headings)
	}
	s := strings.TrimSpace(c.Text)
	if isCode(s) {
		w.forget()
		w.header = nil
		return ""
	}
	if lang.IsTableRow(s) && !strings.Contains(s, "\n") {
		w.forget()
		return w.row(c, s)
	}
	w.header = nil
	body, listed := trimMarker(s)
	if !w.english {
		w.forget()
		if listed || isField(body) || !closed(body) {
			return w.withHeadings(c, body)
		}
		return ""
	}
	r := read(body, w.topic, w.doc)
	if listed && !r.ownSubject() || isField(body) || !closed(body) && !r.ownSubject() || r.imperative() {
		w.forget()
		return w.withHeadings(c, body)
	}
	out, known := w.resolve(r)
	if !known {
		out = w.withHeadings(c, body)
	}
	if len(out) > len(c.Text)+MaxGrowth {
		out = ""
	}
	return out
}

// section begins a new section.
func (w *walker) section(headings []string) {
	w.headings, w.header, w.first = headings, nil, true
	w.forget()
	w.topic = nil
	if n := len(headings); n > 0 {
		if h := titled(strings.Join(strings.Fields(lang.Truncate(headings[n-1], 4*maxLabel)), " ")); h != nil && (w.doc == nil || h.name != w.doc.name) {
			w.topic = h
		}
	}
}

// forget makes the next sentence independent of the sentences before it.
func (w *walker) forget() { w.before, w.focus, w.lost = nil, nil, "" }
