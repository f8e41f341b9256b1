package page

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of what is read of a page.
const (
	maxLinks = 2000
	maxToken = 8 << 20 // bytes of a tag or text
)

// scan reads the links and the rules for robots of an HTML page. It reads tags only, so the depth of a page does not matter.
func (p *Page) scan(at *url.URL, r io.Reader) {
	base, seen := at, map[string]bool{}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return // the end, or a token over the limit: the rest has no links
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.DataAtom {
			case atom.Base:
				if u, err := at.Parse(attr(t, "href")); err == nil && base == at && attr(t, "href") != "" {
					base = u
				}
			case atom.A, atom.Area:
				if !hasWord(attr(t, "rel"), "nofollow") {
					p.link(base, attr(t, "href"), seen)
				}
			case atom.Frame, atom.Iframe:
				p.link(base, attr(t, "src"), seen)
			case atom.Link:
				if hasWord(attr(t, "rel"), "canonical") && p.Canonical == "" {
					p.Canonical = Resolve(base, attr(t, "href"))
				}
			case atom.Meta:
				p.meta(base, t, seen)
			}
		}
	}
}

func (p *Page) meta(base *url.URL, t html.Token, seen map[string]bool) {
	switch name := strings.ToLower(attr(t, "name")); {
	case name == "robots" || name == Agent:
		p.rules(attr(t, "content"))
	case strings.EqualFold(attr(t, "http-equiv"), "refresh"):
		if _, to, found := strings.Cut(attr(t, "content"), "="); found {
			p.link(base, strings.Trim(strings.TrimSpace(to), `"'`), seen)
		}
	}
}

func (p *Page) link(base *url.URL, to string, seen map[string]bool) {
	if u := Resolve(base, to); u != "" && !seen[u] && len(p.Links) < maxLinks {
		seen[u] = true
		p.Links = append(p.Links, u)
	}
}

// rules applies the directives of a meta tag or of the header X-Robots-Tag.
func (p *Page) rules(directives string) {
	for d := range strings.SplitSeq(strings.ToLower(directives), ",") {
		switch strings.TrimSpace(d) {
		case "noindex":
			p.NoIndex = true
		case "nofollow":
			p.NoFollow = true
		case "none":
			p.NoIndex, p.NoFollow = true, true
		}
	}
}

// headers reads the rules for robots and the canonical URL in the headers of a response.
func (p *Page) headers(at *url.URL, h http.Header) {
	for _, v := range h.Values("X-Robots-Tag") {
		agent, rest, named := strings.Cut(v, ":")
		switch agent = strings.ToLower(strings.TrimSpace(agent)); {
		case named && agent == Agent:
			p.rules(rest)
		case !named || strings.ContainsAny(agent, " ,") || agent == "unavailable_after":
			p.rules(v)
		}
	}
	for _, v := range h.Values("Link") {
		for l := range strings.SplitSeq(v, ",") {
			to, parameters, _ := strings.Cut(l, ";")
			_, rel, _ := strings.Cut(parameters, "rel=")
			rel, _, _ = strings.Cut(rel, ";")
			to = strings.TrimSpace(to)
			if hasWord(strings.Trim(rel, ` "`), "canonical") && strings.HasPrefix(to, "<") && strings.HasSuffix(to, ">") && p.Canonical == "" {
				p.Canonical = Resolve(at, to[1:len(to)-1])
			}
		}
	}
}

func attr(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
