package verify

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// passage is a cited chunk taken apart.
type passage struct {
	sentences []sentence
	above     sentence            // the title and the headings
	stems     []string            // of all words, each once
	words     []string            // one word for each of the stems
	at        map[string]int      // of a stem among stems
	vectors   []model.TokenVector // of the words, the first of them, once a claim has asked for them
	embedded  bool
}

// sentence is one of a passage, or the words above it.
type sentence struct {
	words   []word
	terms   []int // places among the passage's stems, of those that carry meaning
	values  []value
	item    bool // of a list
	asserts bool // it is no question, and does not say what is to be found out
}

var itemRE = regexp.MustCompile(`^(?:[-*+•◦▪‣·–—]|[0-9]{1,3}[.)])[ \t]`)

// inquiries are words of sentences that say what is asked and not what is so.
var inquiries = wordSet("whether objective aim aims aimed hypothesis hypothesized hypothesised investigate")

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
	p := &passage{at: map[string]int{}}
	for _, sp := range lang.Sentences(c.Text) {
		p.sentences = append(p.sentences, p.sentence(c.Text[sp.Start:sp.End]))
	}
	p.above = p.sentence(strings.Join(append([]string{c.Title}, c.Headings...), ".\n"))
	return p
}

func (p *passage) sentence(s string) sentence {
	out := sentence{words: wordsOf(s), item: itemRE.MatchString(s)}
	out.asserts = !strings.HasSuffix(s, "?") && !holds(out.words, inquiries)
	out.values = valuesIn(s, out.words)
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

// holds says whether a value stands in a passage or in the words above it.
func (p *passage) holds(v value) bool {
	if p.above.states(v) {
		return true
	}
	for i := range p.sentences {
		if p.sentences[i].states(v) {
			return true
		}
	}
	return false
}

func (s *sentence) states(v value) bool {
	for _, o := range s.values {
		if v.same(o) {
			return true
		}
	}
	return false
}
