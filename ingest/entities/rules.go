package entities

import (
	"cmp"
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
	maxPhrases   = 8         // of kind corpus.Phrase
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
// runs of Katakana, and phrases that the document repeats. The first word of a sentence is part of a name only if the document does not write
// it in lower case elsewhere. The last word of a name of several words refers to that name.
//
// A relation is the text between two names of a sentence, or the text before the first name, whose subject is then the title.
type Rules struct{}

var _ Extractor = Rules{}

// Name implements [Extractor].
func (Rules) Name() string { return "rules-2" }

// Extract implements [Extractor]. Its error is that of the context.
func (Rules) Extract(ctx context.Context, chunks []corpus.Chunk, links [][]Link) ([]Extraction, error) {
	out := make([]Extraction, len(chunks))
	d := newDocument()
	cut := make([][]line, len(chunks)) // cached sentences of the first chunks, because splitting takes most of the time
	kept := 0
	for _, do := range []func(i int, ls []line){
		func(_ int, ls []line) { d.countWords(ls) },
		func(_ int, ls []line) { d.addLastNames(ls) },
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

// line is a sentence with its words, phrases and names.
type line struct {
	text    string
	words   []lang.Token
	phrases []phrase
	names   []span
	named   bool // names are known
}

func lines(s string) []line {
	spans := lang.Sentences(s)
	out := make([]line, len(spans))
	words, found := make([]lang.Token, 0, len(s)/5+1), make([]phrase, 0, len(s)/8+1) // of all lines
	for i, sp := range spans {
		l := &out[i]
		l.text = s[sp.Start:sp.End]
		from, begun := len(words), len(found)
		words = slices.AppendSeq(words, lang.AllWords(l.text))
		l.words = words[from:]
		found = appendPhrases(found, l.text, l.words)
		l.phrases = found[begun:]
	}
	return out
}

// document is the statistics of all passages of a document. Each map has at most maxKnown entries.
type document struct {
	lower    map[string]struct{} // words written in lower case
	capital  map[string]struct{} // words written with a capital letter inside a sentence
	phrases  map[uint64]bool     // whether a phrase was found before
	lastName map[string]string   // the name that ends with a word; "" if several do
	found    map[string]int      // the index of a collector, which is used again
}

func newDocument() *document {
	return &document{lower: map[string]struct{}{}, capital: map[string]struct{}{}, phrases: map[uint64]bool{}, lastName: map[string]string{}, found: map[string]int{}}
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
		for _, p := range l.phrases {
			if repeated, ok := d.phrases[p.key]; (ok || len(d.phrases) < maxKnown) && !repeated {
				d.phrases[p.key] = ok
			}
		}
	}
}

// addLastNames adds the full names of a passage.
func (d *document) addLastNames(ls []line) {
	for i := range ls {
		l := &ls[i]
		l.names, l.named = d.names(l.text, l.words), true
		for _, n := range l.names {
			if n.words < 2 || n.words > 4 || n.connected {
				continue
			}
			last := lang.FoldWord(strings.ToLower(n.last))
			name := l.text[n.start:n.end]
			had, ok := d.lastName[last]
			if ok && had != name && lang.NormalizeName(had) != lang.NormalizeName(name) {
				name = ""
			}
			if ok || len(d.lastName) < maxKnown {
				d.lastName[last] = name
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
	var repeated []string
	for _, l := range ls {
		line, names := l.text, l.names
		if !l.named {
			names = d.names(line, l.words)
		}
		before, end := topic, 0
		for _, n := range mergeSpans(marked(line), names) {
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
		for _, p := range l.phrases {
			if p.start >= end && d.phrases[p.key] {
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
	words      int
	last       string // the last word
	connected  bool   // contains a connector
}

func capitalised(s string) bool {
	if c := s[0]; c < utf8.RuneSelf {
		return 'A' <= c && c <= 'Z'
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.IsTitle(r) || unicode.Is(unicode.Katakana, r)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
