package parse

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/sluice-rag/sluice/lang"
)

// Limits of the links that are kept.
const (
	maxLinks    = 64      // of a block
	maxAllLinks = 200_000 // of a document
	maxLink     = 200     // bytes of a link's text, and of its target
)

// appendLink appends a link unless its text is empty or too long, or there are too many links.
func appendLink(links []Link, words, target string) []Link {
	if len(links) >= maxLinks || len(words) > 4*maxLink {
		return links
	}
	words = strings.TrimSpace(tidy(words))
	if words == "" || len(words) > maxLink {
		return links
	}
	target = strings.TrimSpace(lang.Clean(lang.Truncate(target, 4*maxLink)))
	if len(target) > maxLink {
		target = ""
	}
	return append(links, Link{Text: words, Target: target})
}

// locateLinks sets the offsets of links in a block's text. It drops links that the text does not contain, such as those after a truncation.
func locateLinks(links []Link, body string) []Link {
	var out []Link
	at := 0
	for _, l := range links[:min(len(links), maxLinks)] {
		if i := strings.Index(body[at:], l.Text); i >= 0 {
			l.Offset = at + i
			at = l.Offset + len(l.Text)
			out = append(out, l)
		}
	}
	return out
}

// anchor is a link that the parser is in.
type anchor struct {
	open   bool
	start  int // offset in the collected text
	target string
}

// linkSpan is the range of a link or of code in the text of a Markdown block.
type linkSpan struct {
	start, end int
	target     string
}

// linkedText collects the text of a Markdown block and its links.
type linkedText struct {
	strings.Builder
	anchor anchor
	links  []linkSpan
	code   []linkSpan
}

func (t *linkedText) begin(target string) {
	t.cut()
	t.anchor = anchor{true, t.Len(), target}
}

// cut ends the text of the open link. Text after an image becomes a link of its own.
func (t *linkedText) cut() {
	if t.anchor.open && t.anchor.start < t.Len() && len(t.links) < maxLinks {
		t.links = append(t.links, linkSpan{t.anchor.start, t.Len(), t.anchor.target})
	}
	t.anchor.start = t.Len()
}

func (t *linkedText) end() {
	t.cut()
	t.anchor.open = false
}

// tag handles a link that is written as inline HTML.
func (t *linkedText) tag(raw string) {
	if len(raw) < 3 || raw[0] != '<' || raw[1]|0x20 != 'a' && raw[1] != '/' {
		return
	}
	z := html.NewTokenizer(strings.NewReader(raw))
	kind := z.Next()
	tok := z.Token()
	if tok.Data != "a" {
		return
	}
	switch kind {
	case html.EndTagToken:
		t.end()
	case html.StartTagToken:
		for _, a := range tok.Attr {
			if a.Key == "href" {
				t.begin(a.Val)
				return
			}
		}
	}
}

// all returns the text, and its links in the order of the text, wiki links included.
func (t *linkedText) all() (string, []Link) {
	s := wrapLines(t.String())
	spans := t.links
	words := func(l linkSpan) string { return s[l.start:l.end] }
	if strings.Contains(s, "[[") {
		taken := slices.Concat(t.links, t.code)
		for _, w := range wikiLinks(s) {
			if !slices.ContainsFunc(taken, func(l linkSpan) bool { return w.start < l.end && l.start < w.end }) {
				spans = append(spans, w)
			}
		}
		slices.SortStableFunc(spans, func(a, b linkSpan) int { return cmp.Compare(a.start, b.start) })
	}
	var out []Link
	for _, l := range spans {
		out = appendLink(out, words(l), l.target)
	}
	return strings.TrimSpace(s), out
}

// wikiLinks returns the first [[Target]], [[Target#Part]], [[#Part]] and [[Target|text]] links.
func wikiLinks(s string) (out []linkSpan) {
	for at := 0; len(out) < maxLinks; {
		i := strings.Index(s[at:], "[[")
		if i < 0 {
			break
		}
		start := at + i + 2
		inside, _, ok := strings.Cut(s[start:min(len(s), start+2*maxLink)], "]]")
		if !ok || strings.ContainsAny(inside, "[]\n") {
			at = start
			continue
		}
		at = start + len(inside) + 2
		target, words, named := strings.Cut(inside, "|")
		l := linkSpan{start + len(target) + 1, start + len(inside), target}
		if !named || strings.TrimSpace(words) == "" {
			l.start, l.end = start, start+len(target)
			if page, part, ok := strings.Cut(target, "#"); ok {
				l.end = start + len(page)
				if strings.TrimSpace(page) == "" {
					l.start, l.end = l.end+1, l.end+1+len(part)
				}
			}
		}
		out = append(out, l)
	}
	return out
}
