package verify

import (
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// passage is a tokenized cited chunk.
type passage struct {
	language  *lang.Language // in which it is compared with the claim
	sentences []sentence
	headings  sentence            // title and headings
	stems     []string            // distinct stems of all words
	words     []string            // one word per stem
	at        map[string]int      // index of each stem
	vectors   []model.TokenVector // vectors of the first words; computed on first use
	embedded  bool
}

// sentence is a sentence of a passage, or its title and headings.
type sentence struct {
	words   []word
	terms   []int // indexes of the stems of its content words
	values  []value
	asserts bool // it is no question
}

// passages tokenizes each chunk once, even if several claims cite it. It is not safe for concurrent use.
type passages map[source]*passage

// source identifies a chunk, which may have no id, and the language in which it is read.
type source struct {
	id       corpus.ChunkID
	text     string
	language *lang.Language
}

func (ps passages) of(c corpus.Chunk, l *lang.Language) *passage {
	key := source{c.ID, c.Text, l}
	p := ps[key]
	if p == nil {
		p = tokenize(c, l)
		ps[key] = p
	}
	return p
}

// all returns the passages of the chunks.
func (ps passages) all(chunks []corpus.Chunk, l *lang.Language) []*passage {
	out := make([]*passage, len(chunks))
	for i, c := range chunks {
		out[i] = ps.of(c, l)
	}
	return out
}

func tokenize(c corpus.Chunk, l *lang.Language) *passage {
	p := &passage{language: l, at: map[string]int{}}
	for _, sp := range lang.Sentences(c.Text) {
		p.sentences = append(p.sentences, p.sentence(c.Text[sp.Start:sp.End]))
	}
	p.headings = p.sentence(strings.Join(append([]string{c.Title}, c.Headings...), ".\n"))
	return p
}

func (p *passage) sentence(s string) sentence {
	out := sentence{words: wordsOf(p.language, s), asserts: !strings.HasSuffix(s, "?")}
	out.values = valuesIn(p.language, s, out.words)
	for _, w := range out.words {
		k, ok := p.at[w.stem]
		if !ok {
			k = len(p.stems)
			p.at[w.stem] = k
			p.stems, p.words = append(p.stems, w.stem), append(p.words, w.text)
		}
		if !w.stop {
			out.terms = append(out.terms, k)
		}
	}
	return out
}

// hasValue reports whether a value occurs in a passage or its headings.
func (p *passage) hasValue(v value) bool {
	if p.headings.hasValue(v) {
		return true
	}
	for i := range p.sentences {
		if p.sentences[i].hasValue(v) {
			return true
		}
	}
	return false
}

func (s *sentence) hasValue(v value) bool {
	return slices.ContainsFunc(s.values, v.same)
}
