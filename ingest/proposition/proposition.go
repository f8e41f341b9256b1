// Package propose makes sentences stand alone: what a pronoun at their head stands for takes its place, and what is no sentence,
// such as a list's item or a table's row, gets its headings before it. Dense X Retrieval (Chen et al. 2023, arXiv:2312.06648)
// calls such sentences propositions, and finds that they are searched better than sentences as they stand.
//
// A wrong proposition is worse than none, since it says what the document does not. Where it is not certain what a pronoun
// stands for, it stays, and the headings before it say what the text is about.
package proposition

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Generator makes the sentences of documents stand alone. Its methods may be called at once.
type Generator interface {
	// Name tells propositions of one form from those of another: documents are ingested again where it changes.
	Name() string
	// Generate sets the Proposition of each sentence among all chunks of one document, in their order: "" where the sentence
	// stands alone, and else at most [MaxGrowth] bytes more than the sentence has. The error is that of ctx alone.
	Generate(ctx context.Context, chunks []corpus.Chunk) error
}

// MaxGrowth is how many bytes a proposition may have more than its sentence.
const MaxGrowth = 200

// None is the [Generator] that leaves sentences as they stand.
type None struct{}

// Name implements [Generator].
func (None) Name() string { return "none" }

// Generate implements [Generator].
func (None) Generate(ctx context.Context, _ []corpus.Chunk) error { return ctx.Err() }

// shortPassage is the length in bytes below which a passage need not show its language anew.
const shortPassage = 300

// Rules is the [Generator] that asks no model. It resolves he, she, it and they, their possessives, and "the" or "this" with
// the noun that something was called, where they stand for the subject: to what the document or the section is about, as
// its title says and a sentence shows, or to what the sentence before was about. Pronouns are English ones; of texts in other
// languages only the headings are used. It takes time in proportion to the text.
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

// walker reads the sentences of a document in their order.
type walker struct {
	begun    bool
	title    string
	he, she  int // how often the beginning of the document says so
	doc      *entity
	headings []string
	first    bool // no sentence of the section was read yet
	topic    *entity
	passage  corpus.ChunkID
	body     string // the passage's text
	english  bool

	before *reading // the sentence before, where it is one of the same section
	focus  *entity  // what that is about
	lost   string   // the pronoun of which it is not known whom it stands for
	header []string // of the table at hand
}

// begin learns what the document is about.
func (w *walker) begin(title string, chunks []corpus.Chunk) {
	w.begun, w.first = true, true
	w.title = strings.Join(strings.Fields(lang.Head(title, 4*maxLabel)), " ")
	w.doc = titled(w.title)
	n := 0
	for i := range chunks {
		if chunks[i].Level != corpus.Sentence {
			continue
		}
		for _, t := range lang.Words(lang.Head(chunks[i].Text, readBytes)) {
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
	if lang.Row(s) && !strings.Contains(s, "\n") {
		w.forget()
		return w.row(c, s)
	}
	w.header = nil
	body, listed := unmark(s)
	if !w.english {
		w.forget()
		if listed || isField(body) || !closed(body) {
			return w.under(c, body)
		}
		return ""
	}
	r := read(body, w.topic, w.doc)
	if listed && !r.ownSubject() || isField(body) || !closed(body) && !r.ownSubject() || r.imperative() {
		w.forget()
		return w.under(c, body)
	}
	out, known := w.resolve(r)
	if !known {
		out = w.under(c, body)
	}
	if len(out) > len(c.Text)+MaxGrowth {
		out = ""
	}
	return out
}

// section begins with what stands under other headings.
func (w *walker) section(headings []string) {
	w.headings, w.header, w.first = headings, nil, true
	w.forget()
	w.topic = nil
	if n := len(headings); n > 0 {
		if h := titled(strings.Join(strings.Fields(lang.Head(headings[n-1], 4*maxLabel)), " ")); h != nil && (w.doc == nil || h.name != w.doc.name) {
			w.topic = h
		}
	}
}

// forget parts what comes from what was before it.
func (w *walker) forget() { w.before, w.focus, w.lost = nil, nil, "" }
