package verify

import (
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/internal/text"
)

// passage is a cited chunk taken apart.
type passage struct {
	body    string
	spans   []text.Span // of the sentences of body
	items   []bool      // which of them are items of a list
	terms   [][]string  // of each, stemmed
	above   []string    // terms of the title and the headings
	numbers map[string]struct{}
	stems   map[string]struct{} // of all words, those of the title and the headings included
}

// passages takes chunks apart, each once, however many claims cite it. It is for one goroutine.
type passages map[source]*passage

// source is what tells chunks apart: they may come without an id.
type source struct {
	id   corpus.ChunkID
	text string
}

func (ps passages) of(c corpus.Chunk) *passage {
	key := source{c.ID, c.Text}
	p := ps[key]
	if p == nil {
		p = apart(c)
		ps[key] = p
	}
	return p
}

// all gives the passages of chunks.
func (ps passages) all(chunks []corpus.Chunk) []*passage {
	out := make([]*passage, len(chunks))
	for i, c := range chunks {
		out[i] = ps.of(c)
	}
	return out
}

func apart(c corpus.Chunk) *passage {
	p := &passage{body: c.Text, spans: text.Sentences(c.Text), above: text.Terms(c.Title + "\n" + strings.Join(c.Headings, "\n")),
		numbers: map[string]struct{}{}, stems: map[string]struct{}{}}
	for _, sp := range p.spans {
		sentence := c.Text[sp.Start:sp.End]
		p.terms = append(p.terms, text.Terms(sentence))
		p.items = append(p.items, itemRE.MatchString(sentence))
	}
	for _, part := range append([]string{c.Title, c.Text}, c.Headings...) {
		words := text.Words(part)
		for _, n := range numbersIn(words) {
			p.numbers[n] = struct{}{}
		}
		for _, w := range words {
			p.stems[text.Stem(w.Text)] = struct{}{}
		}
	}
	return p
}
