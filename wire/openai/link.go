package openai

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// maxTitle limits the titles in annotations, in bytes.
const maxTitle = 300

// characters returns the length of a text in Unicode code points, in which OpenAI counts the positions of annotations.
func characters(text string) int { return utf8.RuneCountInString(text) }

// cite adds the annotation of a citation whose source has a link and returns its marker, such as " [2]". Markers number the links in the order of their
// first citations. Annotations of Chat Completions have no other form, so other sources have neither.
func (p *chatProjection) cite(b event.Cited) string {
	s := b.Source
	if s == nil && b.N > 0 && b.N <= len(p.state.Quoted) {
		s = &p.state.Quoted[b.N-1]
	}
	if s == nil {
		return ""
	}
	link := wire.LinkOf(p.origin, s)
	if link == "" {
		return ""
	}
	n := slices.Index(p.urls, link)
	if n < 0 {
		n, p.urls = len(p.urls), append(p.urls, link)
	}
	marker := " [" + strconv.Itoa(n+1) + "]"
	start := p.chars + 1
	if k := len(p.notes); k > 0 && p.notes[k-1].Citation.URL == link && p.notes[k-1].Citation.EndIndex == p.chars {
		return "" // another passage of the same document supports the same text
	}
	p.notes = append(p.notes, URLAnnotation{"url_citation", URLCitation{start, start + characters(marker) - 1, wire.Clip(cmp.Or(s.Title, s.Name, link), maxTitle), link}})
	return marker
}

// links returns the annotations of the text.
func (p *chatProjection) links() []URLAnnotation {
	if p.notes == nil {
		return []URLAnnotation{}
	}
	return p.notes
}
