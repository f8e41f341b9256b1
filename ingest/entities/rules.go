package entities

import (
	"cmp"
	"context"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// What is found at most.
const (
	maxMentions  = 64 // in a passage
	maxRelations = 64
	maxPhrases   = 8   // of them repeated phrases
	maxWords     = 12  // of a name
	maxName      = 200 // bytes of a name
	maxBetween   = 12  // words of a relation
	maxSays      = 120 // bytes of a relation
	maxKnown     = 200_000
	maxKept      = 512 << 10 // bytes of text whose words are kept
)

// Rules finds entities by how texts are written, the same in the same document always, in time that grows with its length.
// A passage is about its title and the headings over it, also without a disambiguation in brackets or after a comma. It
// names what links say (and the files and places that relative ones lead to, but not "here"), what stands in [[double brackets]]
// or in quotation marks, what is capitalised (with such words as "of" between, and
// without dates), runs of Katakana, and, as phrases, words side by side that the document repeats. The first word of a sentence
// is part of a name only if the document does not write it small; the last word of a name of two or more stands for all of it.
// A relation is what stands between two names of a sentence, or before the first, which is then said of the title.
type Rules struct{}

var _ Extractor = Rules{}

// Name implements [Extractor].
func (Rules) Name() string { return "rules-2" }

// Extract implements [Extractor]. Its error is that of the context.
func (Rules) Extract(ctx context.Context, chunks []corpus.Chunk, links [][]Link) ([]Extraction, error) {
	out := make([]Extraction, len(chunks))
	d := newDocument()
	cut := make([][]line, len(chunks)) // of the first chunks: cutting costs more than all else
	kept := 0
	for _, do := range []func(i int, ls []line){
		func(_ int, ls []line) { d.words(ls) },
		func(_ int, ls []line) { d.lastNames(ls) },
		func(i int, ls []line) { out[i] = d.find(&chunks[i], ls, linksOf(links, i)) },
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
				if kept += len(chunks[i].Text); kept <= maxKept {
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
	for i, sp := range spans {
		out[i].text = s[sp.Start:sp.End]
		out[i].words = lang.Words(out[i].text)
	}
	return out
}

// document is what is known of all of a document's passages. Of each kind no more than maxKnown are kept.
type document struct {
	small    map[string]struct{} // words written small
	capital  map[string]struct{} // words written with a capital inside a sentence
	phrases  map[string]int      // how often
	lastName map[string]string   // the one name that ends with a word; "": several do
}

func newDocument() *document {
	return &document{small: map[string]struct{}{}, capital: map[string]struct{}{}, phrases: map[string]int{}, lastName: map[string]string{}}
}

func keep[V any](m map[string]V, key string, v V) {
	if _, ok := m[key]; ok || len(m) < maxKnown {
		m[key] = v
	}
}

// words takes note of how a passage writes its words.
func (d *document) words(ls []line) {
	for _, l := range ls {
		for i, w := range l.words {
			switch {
			case capitalised(l.text[w.Start:]):
				if i > 0 {
					keep(d.capital, w.Text, struct{}{})
				}
			case !isDigit(l.text[w.Start]):
				keep(d.small, w.Text, struct{}{})
			}
		}
		for _, p := range phrases(l.text, l.words) {
			keep(d.phrases, p.key, d.phrases[p.key]+1)
		}
	}
}

// lastNames takes note of the names that a passage writes in full.
func (d *document) lastNames(ls []line) {
	for _, l := range ls {
		for _, n := range d.names(l.text, l.words) {
			if n.words < 2 || n.words > 4 || n.connected {
				continue
			}
			last := lang.FoldWord(strings.ToLower(n.last))
			name := l.text[n.start:n.end]
			if had, ok := d.lastName[last]; ok && had != name && lang.Name(had) != lang.Name(name) {
				name = ""
			}
			keep(d.lastName, last, name)
		}
	}
}

// collector gathers what one passage names.
type collector struct {
	Extraction
	place map[string]int // by lang.Name
}

// add gives the name under which the entity is kept, "" if there is no room.
func (c *collector) add(name string, kind corpus.MentionKind) string {
	name = strings.Join(strings.Fields(name), " ")
	key := lang.Name(name)
	if key == "" || len(name) > maxName || !utf8.ValidString(name) {
		return ""
	}
	if i, ok := c.place[key]; ok {
		c.Mentions[i].Kind = min(c.Mentions[i].Kind, kind)
		return c.Mentions[i].Name
	}
	if len(c.Mentions) == maxMentions {
		return ""
	}
	c.place[key] = len(c.Mentions)
	c.Mentions = append(c.Mentions, corpus.Mention{Name: name, Kind: kind})
	return name
}

func (c *collector) relate(from, to, says string) {
	says = strings.Join(strings.Fields(says), " ")
	if from == "" || to == "" || from == to || len(c.Relations) == maxRelations || len(says) > maxSays ||
		!strings.ContainsFunc(says, unicode.IsLetter) {
		return
	}
	c.Relations = append(c.Relations, corpus.Relation{From: from, To: to, Predicate: says})
}

// find gives what a passage names.
func (d *document) find(c *corpus.Chunk, ls []line, links []Link) Extraction {
	out := &collector{place: map[string]int{}}
	topic := ""
	for _, title := range append([]string{c.Title}, c.Headings...) {
		for _, name := range variants(title) {
			if added := out.add(name, corpus.Subject); topic == "" {
				topic = added
			}
		}
	}
	out.link(links)
	var repeated []string
	for _, l := range ls {
		line, words := l.text, l.words
		before, end := topic, 0
		for _, n := range merged(marked(line), d.names(line, words)) {
			name := line[n.start:n.end]
			if n.words == 1 {
				name = cmp.Or(d.lastName[lang.FoldWord(strings.ToLower(name))], name)
			}
			name = out.add(name, n.kind)
			if between := line[min(end, n.start):n.start]; between != "" && countWords(between) <= maxBetween {
				out.relate(before, name, between)
			}
			before, end = name, n.end
		}
		end = 0
		for _, p := range phrases(line, words) {
			if p.start >= end && d.phrases[p.key] > 1 {
				repeated = append(repeated, line[p.start:p.end])
				end = p.end
			}
		}
	}
	room := maxPhrases
	for _, p := range repeated {
		before := len(out.Mentions)
		if out.add(p, corpus.Phrase); len(out.Mentions) > before {
			if room--; room == 0 {
				break
			}
		}
	}
	return out.Extraction
}

func countWords(s string) int {
	if len(s) > 4*maxSays {
		return maxBetween + 1
	}
	return len(lang.Words(s))
}

// variants are the names that a title gives.
func variants(title string) []string {
	title = strings.TrimSpace(title)
	if len(title) > maxName || title == "" {
		return nil
	}
	out := []string{title}
	if i := strings.LastIndexAny(title, "(（"); i > 0 && strings.HasSuffix(title, ")") || i > 0 && strings.HasSuffix(title, "）") {
		out = append(out, strings.TrimSpace(title[:i]))
	}
	if ending := path.Ext(title); in(documents, strings.ToLower(ending)) && !strings.Contains(title, " ") && len(ending) < len(title) {
		out = append(out, strings.TrimSuffix(title, ending)) // so do links name it
	}
	if i := strings.Index(title, ", "); i > 0 && strings.Contains(title[:i], " ") {
		out = append(out, title[:i])
	}
	return out
}

// span is a name in a text, of some words.
type span struct {
	start, end int
	kind       corpus.MentionKind
	words      int
	last       string // its last word
	connected  bool   // words such as "of" are in it
}

func capitalised(s string) bool {
	if c := s[0]; c < utf8.RuneSelf {
		return 'A' <= c && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r) || unicode.Is(unicode.Katakana, r)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
