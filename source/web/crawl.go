package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/temoto/robotstxt"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/page"
)

// Limits against servers that generate links without end.
const (
	maxHops     = 5      // redirects and canonical links, one after the other
	maxSegments = 30     // of a path
	maxRepeats  = 3      // of a segment in a path
	maxVariants = 100    // queries of one path
	maxSeen     = 100000 // URLs of a listing
)

// item is a URL to visit.
type item struct {
	url         string
	depth, hops int
}

// crawl is one listing. Pages are visited in the order of their distance from the first one.
type crawl struct {
	*connector
	rules    *robotstxt.Group
	queue    []item
	seen     map[string]bool
	variants map[string]int // by path
	pages    map[string]page.Page
	failed   []ingest.Failure
	unread   []string
	gone     []string
	ignored  int
	row      int  // visits that failed in succession
	mapped   bool // the pages are those of a sitemap
	limited  bool // a limit was reached
	lost     bool // pages may be missing, because one that has their links could not be read
}

func newCrawl(c *connector) *crawl {
	return &crawl{connector: c, seen: map[string]bool{}, variants: map[string]int{}, pages: map[string]page.Page{}}
}

// inside reports whether a URL belongs to the site.
func (w *crawl) inside(u string) bool {
	return u == w.location || strings.HasPrefix(u, strings.TrimSuffix(w.location, "/")+"/") || strings.HasPrefix(u, w.location+"?")
}

// add adds a URL to the queue, unless it was added before or does not belong to the site.
func (w *crawl) add(it item) {
	if it.url == "" || w.seen[it.url] || !w.inside(it.url) || it.depth > w.client.Limits().Depth || it.hops > maxHops {
		return
	}
	if len(w.seen) >= maxSeen {
		w.limited = true
		return
	}
	w.seen[it.url] = true
	u, err := url.Parse(it.url)
	if err != nil || endless(u.Path) {
		w.ignored++
		return
	}
	if u.RawQuery != "" {
		if w.variants[u.Path]++; w.variants[u.Path] > maxVariants {
			return
		}
	}
	if page.IsAsset(u) {
		w.ignored++
		return
	}
	w.queue = append(w.queue, it)
}

// endless reports whether a path is one that wrong relative links or a generator of links make: it is deep, or repeats its segments.
func endless(p string) bool {
	segments := strings.Split(p, "/")
	if len(segments) > maxSegments {
		return true
	}
	count := map[string]int{}
	for _, s := range segments {
		if count[s]++; s != "" && count[s] > maxRepeats {
			return true
		}
	}
	return false
}

// permitted reports whether robots.txt permits a URL.
func (w *crawl) permitted(u *url.URL) bool { return w.rules.Test(u.RequestURI()) }

// run visits the pages.
func (w *crawl) run(ctx context.Context) error {
	if !w.mapped {
		if !w.permitted(w.root) {
			return fault.New(fault.Forbidden, "the robots.txt of %s does not permit %s", w.root.Host, w.location)
		}
		w.add(item{url: w.location})
	}
	for len(w.queue) > 0 {
		it := w.queue[0]
		w.queue = w.queue[1:]
		u, err := url.Parse(it.url)
		if err != nil || !w.permitted(u) {
			w.gone = append(w.gone, it.url)
			w.ignored++
			continue
		}
		p, err := w.session.Visit(ctx, it.url)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, page.ErrLimit) {
			w.limited = true
			return nil
		}
		if err = w.visited(it, p, err); err != nil {
			return err
		}
	}
	return nil
}

// visited adds what a visit has found. The error ends the listing.
func (w *crawl) visited(it item, p page.Page, err error) error {
	first := it.url == w.location && !w.mapped
	coded, isCoded := errors.AsType[*fault.Error](err)
	if err != nil && !isCoded {
		return err
	}
	if err == nil && p.Status >= 400 && p.Status != http.StatusNotFound && p.Status != http.StatusGone {
		coded = page.StatusError(p.Status)
	}
	if coded != nil {
		if first && !w.knows(it.url) {
			return fault.New(coded.Code, "%s could not be read: %s", it.url, coded.Message)
		}
		return w.fail(it, coded)
	}
	w.row = 0
	switch {
	case p.Redirect != "":
		if first && !w.inside(p.Redirect) {
			return fault.New(fault.InvalidRequest, "%s redirects to %s: add that location instead", w.location, p.Redirect)
		}
		w.add(item{p.Redirect, it.depth, it.hops + 1})
	case p.Status == http.StatusNotFound, p.Status == http.StatusGone:
		if first {
			return fault.New(fault.NotFound, "%s was not found, and the site has no sitemap", it.url)
		}
		w.gone = append(w.gone, it.url)
		w.ignored++
	case !p.Document:
		w.ignored++
	default:
		w.pages[it.url] = p
		w.follow(it, p)
	}
	return nil
}

func (w *crawl) knows(u string) bool {
	_, ok := w.session.Known(u)
	return ok
}

// follow adds the links of a page.
func (w *crawl) follow(it item, p page.Page) {
	w.add(item{p.Canonical, it.depth, it.hops + 1})
	if w.mapped || p.NoFollow {
		return
	}
	for _, l := range p.Links {
		w.add(item{url: l, depth: it.depth + 1})
	}
}

// fail keeps the document of a page that cannot be read, and visits the pages that it linked before. After many failures in succession, the listing fails.
func (w *crawl) fail(it item, err *fault.Error) error {
	if w.row++; w.row >= w.client.Limits().Fails {
		return fault.New(err.Code, "%d pages in succession could not be read; the last one: %s", w.row, err.Message)
	}
	w.failed = append(w.failed, ingest.Failure{Path: it.url, Reason: err.Message})
	w.unread = append(w.unread, it.url)
	known, ok := w.session.Known(it.url)
	if ok {
		w.session.Keep(it.url)
		w.follow(it, known)
	}
	w.lost = w.lost || !ok && !w.mapped && !w.session.Complete()
	return nil
}

// listing returns the documents that were found.
func (w *crawl) listing() source.Listing {
	out := source.Listing{Failed: w.failed, Unread: w.unread, Ignored: w.ignored, Gone: w.gone}
	if w.limited {
		l := w.client.Limits()
		out.Failed = append(out.Failed, ingest.Failure{Path: w.location,
			Reason: fmt.Sprintf("the website is larger than the limit of %d pages, %d MiB or %s; the other pages are not indexed", l.Pages, l.Bytes>>20, l.Time)})
	}
	const many = 1000
	if w.limited || w.lost || len(out.Unread) > many {
		out.Unread = []string{w.location}
	}
	for _, u := range slices.Sorted(maps.Keys(w.pages)) {
		p := w.pages[u]
		if p.NoIndex || w.repeats(u, p) {
			w.gone = append(w.gone, u)
			out.Ignored++
			continue
		}
		inside := strings.Trim(strings.TrimPrefix(u, w.location), "/")
		out.Documents = append(out.Documents, w.session.DocumentOf(p, inside))
	}
	out.Gone = w.gone
	return out
}

// repeats reports whether a page is listed at another URL: the canonical one, or that of the folder of an index page.
func (w *crawl) repeats(u string, p page.Page) bool {
	if main, ok := w.pages[p.Canonical]; ok && p.Canonical != u && !main.NoIndex && (main.Canonical == "" || main.Canonical == p.Canonical) {
		return true
	}
	dir, name := path.Split(u)
	if !strings.HasPrefix(name, "index.") || strings.Contains(name, "?") {
		return false
	}
	folder, ok := w.pages[dir]
	return ok && !folder.NoIndex && folder.SHA256 == p.SHA256 && folder.Canonical != u
}
