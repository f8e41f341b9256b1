package answer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// maxName limits the name of a document's file, in bytes.
const maxName = 255

// contents returns the index as a reader of documents, or nil if it is not one.
func (p *Pipeline) contents() index.DocumentReader {
	c, _ := p.Index.(index.DocumentReader)
	return c
}

// describe loads the names and paths of the chunks' documents. It ignores failures, since an answer does not need names.
func (j *job) describe(ctx context.Context, chunks []corpus.Chunk) {
	c := j.contents()
	if c == nil {
		return
	}
	var ids []corpus.DocumentID
	if j.files == nil {
		j.files = map[corpus.DocumentID]file{}
	}
	for _, chunk := range chunks {
		if _, known := j.files[chunk.Document]; !known {
			j.files[chunk.Document] = file{}
			ids = append(ids, chunk.Document)
		}
	}
	if len(ids) == 0 {
		return
	}
	maps.Copy(j.files, j.filesByID(ctx, c, ids))
}

// filesByID returns what sources show of documents. Those that cannot be read are missing, because an answer does not need it. Concurrent searches may call it.
func (j *job) filesByID(ctx context.Context, c index.DocumentReader, ids []corpus.DocumentID) map[corpus.DocumentID]file {
	out := make(map[corpus.DocumentID]file, len(ids))
	j.searchMu.Lock()
	ids = slices.DeleteFunc(ids, func(id corpus.DocumentID) bool {
		f, known := j.readFiles[id]
		if known {
			out[id] = f
		}
		return known
	})
	j.searchMu.Unlock()
	if len(ids) == 0 {
		return out
	}
	docs, err := c.DocumentsByID(ctx, j.q.Collection, ids)
	if err != nil {
		return out
	}
	var attributes map[string]map[string]any
	if j.SourceAttributes != nil {
		names := make([]string, len(docs))
		for i, d := range docs {
			names[i] = string(d.ID)
		}
		attributes, _ = j.SourceAttributes(ctx, names)
	}
	j.searchMu.Lock()
	defer j.searchMu.Unlock()
	for _, d := range docs {
		f := fileOf(d)
		f.attributes = shown(attributes[string(d.ID)])
		out[d.ID], j.readFiles[d.ID] = f, f
	}
	return out
}

// shown returns the attributes that a source shows: those, in the order of their names, that have room.
func shown(all map[string]any) map[string]any {
	var out map[string]any
	room := maxAttributes
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if room -= len(name) + len(fmt.Sprint(all[name])); room < 0 {
			break
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = all[name]
	}
	return out
}

// filesOf returns what sources show of the hits' documents. Concurrent searches may call it.
func (j *job) filesOf(ctx context.Context, hits []index.Hit) map[corpus.DocumentID]file {
	c := j.contents()
	if c == nil {
		return nil
	}
	ids := map[corpus.DocumentID]bool{}
	for _, h := range hits {
		ids[h.Chunk.Document] = true
	}
	return j.filesByID(ctx, c, slices.Sorted(maps.Keys(ids)))
}

var (
	// extensionRE matches the ending of a file's name: "Release 2.0 notes" and v2.0 have none.
	extensionRE = regexp.MustCompile(`\.(?:[0-9]?[A-Za-z][A-Za-z0-9]{0,9})$`)
	uuidRE      = regexp.MustCompile(`(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	// deviceRE matches names that cameras, scanners and programs give: IMG_1234, scan0001, Screenshot 2024-05-03, Document (1).
	deviceRE = regexp.MustCompile(`(?i)^(?:img|image|dsc[fn]?|pxl|vid|scan|photo|foto|picture|screenshot|bildschirmfoto|document|dokument|doc|file|untitled|download)[\W_\d]*$`)
	hexRE    = regexp.MustCompile(`(?i)^[0-9a-f]{8,}$`)
)

// nameWords returns the words of a file's name that the title of the document lacks, without the ending: "2025 eu" for pricing-2025-eu.md with the title
// Pricing. People name files after what is in them, which often stands nowhere else. UUIDs, hashes and the names that devices give have no words.
func nameWords(name, title string) string {
	name = uuidRE.ReplaceAllString(extensionRE.ReplaceAllString(name, ""), " ")
	if deviceRE.MatchString(name) {
		return ""
	}
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	titled := split(strings.ToLower(title))
	words := slices.DeleteFunc(split(name), func(w string) bool { return isHash(w) || slices.Contains(titled, strings.ToLower(w)) })
	return strings.Join(words, " ")
}

// isHash reports whether a word is a long hexadecimal number: eight digits alone may be a date, and letters alone a word.
func isHash(w string) bool {
	return hexRE.MatchString(w) && strings.ContainsAny(w, "0123456789") && (len(w) > 8 || strings.ContainsAny(strings.ToLower(w), "abcdef"))
}

// nameOf returns the name of a file from its path or URL, without folders; for a URL without a path, the host.
func nameOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme != "" && u.Host != "" {
		uri = u.Path
		if strings.Contains(u.Fragment, "/") { // a file in a Git repository
			uri = u.Fragment
		}
		if path.Base(uri) == "/" || uri == "" {
			uri = u.Hostname()
		}
	}
	name := path.Base(strings.TrimSuffix(uri, "/"))
	if name == "." || name == "/" {
		return ""
	}
	return strings.TrimSpace(lang.Truncate(strings.Join(strings.Fields(lang.Clean(lang.Truncate(name, 4*maxName))), " "), maxName))
}

// file is what sources show of a document.
type file struct {
	name, path  string // of its file: without folders, and below the indexed folder
	uri         string // URL, or else the path or name
	contributor string
	meta        *corpus.DublinCore
	attributes  map[string]any
}

// Limits of the text of a document's metadata in a source, in bytes.
const (
	maxURI         = 2048
	maxSourceField = 500 // of an element of Dublin Core
	maxAttributes  = 1000
)

// maxAlso limits the documents of a source that have about the same passage.
const maxAlso = 20

func fileOf(d corpus.Document) file {
	f := file{name: nameOf(d.URI), path: d.Path, contributor: d.Contributor}
	f.uri = cmp.Or(d.Path, f.name) // folders of the server are not shown
	if u, err := url.Parse(d.URI); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && len(d.URI) <= maxURI {
		u.User = nil
		f.uri = u.String()
		if d.MediaType == "text/html" && d.Title != "" {
			f.name = strings.TrimSpace(lang.Truncate(d.Title, maxName)) // the last element of a URL says little
		}
	}
	meta := d.Metadata()
	for _, e := range meta.Elements() {
		*e.Value = lang.Truncate(*e.Value, maxSourceField)
	}
	if meta != (corpus.DublinCore{}) {
		f.meta = &meta
	}
	return f
}

// quote is the text of a source that supports its citations so far.
type quote struct {
	span      lang.Span // in the source's text: of the first citation; empty if it is not known
	pages     []int     // of all citations, ascending
	lastSpan  lang.Span // of the last citation
	lastPages []int     // of the last citation
}

// sourceOf returns a source without its weight.
func (j *job) sourceOf(n int, c candidate) event.Source {
	f := j.files[c.Chunk.Document]
	s := event.Source{N: n, Chunk: c.Chunk.ID, Document: c.Chunk.Document, Title: c.Chunk.Title, Name: f.name, File: f.path,
		Ordinal: c.Chunk.Ordinal, Heading: c.Chunk.Heading(), Level: c.Chunk.Level, Pages: c.Chunk.Pages, Start: c.Chunk.Start, End: c.Chunk.End,
		Text: c.Chunk.Text, Score: c.grade, Path: c.path,
		URI: f.uri, Meta: f.meta, Attributes: f.attributes, Contributor: f.contributor}
	for _, d := range c.also[:min(len(c.also), maxAlso)] {
		if uri := j.files[d].uri; uri != "" && uri != s.URI {
			s.AlsoIn = append(s.AlsoIn, uri)
		}
	}
	j.setQuote(&s)
	return s
}

// setQuote sets the quote and the pages of a source that is cited.
func (j *job) setQuote(s *event.Source) {
	if s.N <= len(j.quotes) {
		q := j.quotes[s.N-1]
		s.Quote, s.QuoteEnd, s.Pages = q.span.Start, q.span.End, q.pages
	}
}

// Limits of the text that is read to find a quotation, in bytes: of the answer and of the passage.
const (
	maxSupportedText = 2000
	maxPassageText   = 16 << 10
)

// supportingSentences returns the sentences of a passage that support a text of the answer, in their order, and the one of them that
// has most of the text's words. For each sentence of the text, these are the sentence that has most of its words, and those that
// have many of the remaining words.
func supportingSentences(passage, answer string) (all []lang.Span, best lang.Span) {
	spans := lang.Sentences(lang.Truncate(passage, maxPassageText))
	words := make([]map[string]struct{}, len(spans))
	answer = lang.Truncate(answer, maxSupportedText)
	l := lang.OfQuestion(answer, passage)
	for i, s := range spans {
		words[i] = l.TermSet(passage[s.Start:s.End])
	}
	addColumns(passage, spans, words)
	var picked []int
	for _, s := range lang.Sentences(answer) {
		picked = append(picked, coveringSentences(words, l.TermSet(answer[s.Start:s.End]))...)
	}
	slices.Sort(picked)
	said, most := l.TermSet(answer), 0
	for _, i := range slices.Compact(picked) {
		all = append(all, spans[i])
		if n := shared(words[i], said); n > most {
			best, most = spans[i], n
		}
	}
	return all, best
}

// addColumns adds to the words of each row of a table those of its first row, if these are the names of the columns: otherwise these names alone support
// an answer better than the row that it is about.
func addColumns(passage string, spans []lang.Span, words []map[string]struct{}) {
	header, cells := 0, 0
	for i, s := range spans {
		n := strings.Count(passage[s.Start:s.End], " | ")
		if n == 0 || n != cells || strings.TrimSpace(passage[spans[i-1].End:s.Start]) != "" {
			if header, cells = -1, n; lang.IsTableHead(lang.TableCells(passage[s.Start:s.End])) {
				header = i
			}
			continue
		}
		if header >= 0 {
			maps.Copy(words[i], words[header])
		}
	}
}

// shared returns the number of words that are in both sets.
func shared(a, b map[string]struct{}) int {
	n := 0
	for w := range a {
		if _, is := b[w]; is {
			n++
		}
	}
	return n
}

// coveringSentences returns the sentences that together have at least half of the wanted words, or none. Each sentence after the
// first adds at least a third of the words.
func coveringSentences(sentences []map[string]struct{}, wanted map[string]struct{}) (picked []int) {
	total, least := len(wanted), 1
	for {
		best, most := 0, 0
		for i, words := range sentences {
			if n := shared(wanted, words); n > most {
				best, most = i, n
			}
		}
		if most < least {
			break
		}
		picked, least = append(picked, best), max(3, (total+2)/3)
		for w := range sentences[best] {
			delete(wanted, w)
		}
	}
	if 2*len(wanted) > total {
		return nil
	}
	return picked
}

// cite returns the citation of a source for the text that it supports.
func (j *job) cite(n int, c candidate, supported string) event.Cited {
	cited := event.Cited{N: n, Chunk: c.Chunk.ID}
	known := n <= len(j.quotes)
	spans, best := supportingSentences(c.Chunk.Text, supported)
	best.Start += listMarker(c.Chunk.Text[best.Start:best.End])
	var pages []int
	for _, s := range spans {
		pages = append(pages, c.Chunk.PagesOf(s.Start, s.End)...)
	}
	if len(spans) == 0 {
		pages = c.Chunk.Pages
	}
	pages = sortedUnique(pages)
	if !known {
		j.quotes = append(j.quotes, quote{span: best})
	}
	q := &j.quotes[n-1]
	previous := q.lastSpan
	q.lastSpan = best
	if known && slices.Equal(pages, q.lastPages) && (best == previous || best.End > 0) {
		if best != previous {
			cited.Quote, cited.QuoteEnd = best.Start, best.End
		}
		return cited
	}
	q.pages, q.lastPages = sortedUnique(slices.Concat(q.pages, pages)), pages
	s := j.sourceOf(n, c)
	s.Quote, s.QuoteEnd, s.Pages, s.Cited = best.Start, best.End, pages, true
	cited.Source = &s
	return cited
}

// listMarker returns the length of the marker with which an item of a list begins: it is not part of what a citation quotes.
func listMarker(item string) int {
	for _, marker := range []string{"- ", "* ", "• "} {
		if strings.HasPrefix(item, marker) {
			return len(marker)
		}
	}
	return 0
}

func sortedUnique(pages []int) []int { return slices.Compact(slices.Sorted(slices.Values(pages))) }

// citePassage returns the citation of the passage at an index of the context.
func (j *job) citePassage(place int, supported string) event.Cited {
	return j.cite(j.sourceNumber(place), j.context[place], supported)
}
