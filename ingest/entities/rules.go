package entities

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// Limits of an extraction.
const (
	maxMentions  = 64 // in a passage
	maxRelations = 64
	maxWords     = 12        // in a name
	maxName      = 200       // bytes of a name
	maxBetween   = 12        // words between two names of a relation
	maxPredicate = 120       // bytes of a predicate
	maxKnown     = 200_000   // entries of each map of a document
	maxCached    = 512 << 10 // bytes of text whose sentences are cached
)

// Rules is an [Extractor] that uses the typography of the text. It is deterministic and takes linear time.
//
// The subjects of a passage are its title and headings, also without a disambiguation in brackets or after a comma. The other names are: the
// text and relative targets of links, [[double brackets]], quotations, capitalised phrases with connectors such as "of" and without dates,
// and runs of Katakana. The first word of a sentence is part of a name only if the document does not write it in lower case elsewhere.
//
// A relation is the text between two names of a sentence, or the text before the first name, whose subject is then the title.
type Rules struct{}

var _ Extractor = Rules{}

// Name implements [Extractor].
func (Rules) Name() string { return "rules-3" }

// Extract implements [Extractor]. Its error is that of the context.
func (Rules) Extract(ctx context.Context, chunks []corpus.Chunk, links [][]Link) ([]Extraction, error) {
	out := make([]Extraction, len(chunks))
	d := newDocument()
	cut := make([][]line, len(chunks)) // cached sentences of the first chunks, because splitting takes most of the time
	kept := 0
	for _, do := range []func(i int, ls []line){
		func(_ int, ls []line) { d.countWords(ls) },
		func(i int, ls []line) { out[i] = d.extract(&chunks[i], ls, linksOf(links, i)) },
	} {
		for i := range chunks {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if chunks[i].Level != corpus.Passage {
				continue
			}
			ls := cut[i]
			if ls == nil {
				ls = lines(chunks[i].Text)
				if kept += len(chunks[i].Text); kept <= maxCached {
					cut[i] = ls
				}
			}
			do(i, ls)
		}
	}
	return out, nil
}

func linksOf(links [][]Link, i int) []Link {
	if i < len(links) {
		return links[i]
	}
	return nil
}

// line is a sentence with its words.
type line struct {
	text  string
	words []lang.Token
}

func lines(s string) []line {
	spans := lang.Sentences(s)
	out := make([]line, len(spans))
	words := make([]lang.Token, 0, len(s)/5+1) // of all lines
	for i, sp := range spans {
		l := &out[i]
		l.text = s[sp.Start:sp.End]
		from := len(words)
		words = slices.AppendSeq(words, lang.AllWords(l.text))
		l.words = words[from:]
	}
	return out
}

// document is the statistics of all passages of a document. Each map has at most maxKnown entries.
type document struct {
	lower   map[string]struct{} // words written in lower case
	capital map[string]struct{} // words written with a capital letter inside a sentence
	found   map[string]int      // the index of a collector, which is used again
}

func newDocument() *document {
	return &document{lower: map[string]struct{}{}, capital: map[string]struct{}{}, found: map[string]int{}}
}

// note adds a word to a set, unless it is full.
func note(set map[string]struct{}, word string) {
	if _, ok := set[word]; !ok && len(set) < maxKnown {
		set[word] = struct{}{}
	}
}

// countWords adds the spelling of the words of a passage.
func (d *document) countWords(ls []line) {
	for _, l := range ls {
		for i, w := range l.words {
			switch {
			case capitalised(l.text[w.Start:]):
				if i > 0 {
					note(d.capital, w.Text)
				}
			case !isDigit(l.text[w.Start]):
				note(d.lower, w.Text)
			}
		}
	}
}

// collector collects the entities of a passage.
type collector struct {
	Extraction
	index map[string]int // of Mentions, by lang.NormalizeName
}

// add adds a name, and returns the spelling of its mention, or "" if it is invalid or there are too many.
func (c *collector) add(name string, kind corpus.MentionKind) string {
	name = lang.OneLine(name)
	key := lang.NormalizeName(name)
	if key == "" || len(name) > maxName || !utf8.ValidString(name) {
		return ""
	}
	if i, ok := c.index[key]; ok {
		c.Mentions[i].Kind = min(c.Mentions[i].Kind, kind)
		return c.Mentions[i].Name
	}
	if len(c.Mentions) == maxMentions {
		return ""
	}
	c.index[key] = len(c.Mentions)
	c.Mentions = append(c.Mentions, corpus.Mention{Name: name, Kind: kind})
	return name
}

func (c *collector) relate(from, to, predicate string) {
	predicate = lang.OneLine(predicate)
	if from == "" || to == "" || from == to || len(c.Relations) == maxRelations || len(predicate) > maxPredicate ||
		!strings.ContainsFunc(predicate, unicode.IsLetter) {
		return
	}
	c.Relations = append(c.Relations, corpus.Relation{From: from, To: to, Predicate: predicate})
}

// extract returns the extraction of a passage.
func (d *document) extract(c *corpus.Chunk, ls []line, links []Link) Extraction {
	clear(d.found)
	out := &collector{index: d.found}
	topic := ""
	for _, title := range append([]string{c.Title}, c.Headings...) {
		for _, name := range variants(title) {
			if added := out.add(name, corpus.Subject); topic == "" {
				topic = added
			}
		}
	}
	out.addLinks(links)
	for _, l := range ls {
		before, end := topic, 0
		for _, n := range mergeSpans(marked(l.text), d.names(l.text, l.words)) {
			name := out.add(l.text[n.start:n.end], n.kind)
			if between := l.text[min(end, n.start):n.start]; between != "" && countWords(between) <= maxBetween {
				out.relate(before, name, between)
			}
			before, end = name, n.end
		}
	}
	return out.Extraction
}

func countWords(s string) int {
	if len(s) > 4*maxPredicate {
		return maxBetween + 1
	}
	return lang.CountWords(s)
}

// variants returns the names in a title.
func variants(title string) []string {
	title = strings.TrimSpace(title)
	if len(title) > maxName || title == "" {
		return nil
	}
	out := []string{title}
	if i := strings.LastIndexAny(title, "(（"); i > 0 && strings.HasSuffix(title, ")") || i > 0 && strings.HasSuffix(title, "）") {
		out = append(out, strings.TrimSpace(title[:i]))
	}
	if ext := path.Ext(title); in(textExtensions, strings.ToLower(ext)) && !strings.Contains(title, " ") && len(ext) < len(title) {
		out = append(out, strings.TrimSuffix(title, ext)) // as links to the file do
	}
	if i := strings.Index(title, ", "); i > 0 && strings.Contains(title[:i], " ") {
		out = append(out, title[:i])
	}
	return out
}

// span is a name in a sentence.
type span struct {
	start, end int
	kind       corpus.MentionKind
}

func capitalised(s string) bool {
	if c := s[0]; c < utf8.RuneSelf {
		return 'A' <= c && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r) || unicode.Is(unicode.Katakana, r)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
