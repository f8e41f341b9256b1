package verify

import (
	"regexp"
	"strings"
	"unicode/utf8"

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
	item    bool  // it is a list item
	frame   []int // earlier sentences that belong to it: the heading above, the names of the columns, or what leads to the list
	asserts bool  // it is no question
}

var itemRE = regexp.MustCompile(`^(?:[-*+•◦▪‣·–—]|[0-9]{1,3}[.)])[ \t]`)

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
	var f framing
	for i, sp := range lang.Sentences(c.Text) {
		s := c.Text[sp.Start:sp.End]
		x := p.sentence(s)
		x.frame = f.of(i, s, x.item)
		p.sentences = append(p.sentences, x)
	}
	p.headings = p.sentence(strings.Join(append([]string{c.Title}, c.Headings...), ".\n"))
	return p
}

// framing finds the sentences that belong to the ones after them. Positions are those of sentences, plus 1.
type framing struct {
	heading int // the last heading
	lead    int // the last sentence that is neither an item nor a row
	columns int // the first row of the table
}

// of returns the frame of the sentence at i.
func (f *framing) of(i int, s string, item bool) (out []int) {
	row := lang.IsTableRow(s)
	switch {
	case row && f.columns == 0:
		f.columns = i + 1
	case row || item:
	case isHeading(s):
		*f = framing{heading: i + 1, lead: i + 1}
		return nil
	default:
		f.lead, f.columns = i+1, 0
	}
	for _, at := range []int{f.heading, f.lead, f.columns} {
		if at > 0 && at != i+1 && (row || item || at == f.heading) {
			out = append(out, at-1)
		}
	}
	return out
}

// maxHeading is the length of the longest line that is taken for a heading without a mark, in bytes.
const maxHeading = 80

// isHeading reports whether a sentence is a heading in the text: it is marked as one, or it is a short line without an end.
func isHeading(s string) bool {
	return strings.HasPrefix(s, "#") || len(s) <= maxHeading && !strings.Contains(s, "\n") && !strings.ContainsAny(s[len(s)-1:], ".!?:;,)") && !endsWide(s)
}

func endsWide(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune("。！？…：；", r)
}

func (p *passage) sentence(s string) sentence {
	out := sentence{words: wordsOf(p.language, s), item: itemRE.MatchString(s)}
	out.asserts = !strings.HasSuffix(s, "?")
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
	for _, o := range s.values {
		if v.same(o) {
			return true
		}
	}
	return false
}
