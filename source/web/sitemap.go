package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/temoto/robotstxt"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/source/page"
)

// Limits of what is read of a site before its pages.
const (
	maxRobots   = 512 << 10 // bytes; RFC 9309 wants at least 500 KiB
	maxSitemap  = 50 << 20  // bytes without compression, as https://www.sitemaps.org/protocol.html sets it
	maxSitemaps = 100       // files
	maxElements = 16        // depth
	maxLoc      = 4096      // bytes of an element
)

// readRobots reads robots.txt (RFC 9309), and returns the rules for this program and the sitemaps. A site whose robots.txt cannot be read is not read.
func (w *crawl) readRobots(ctx context.Context) (*robotstxt.Group, []string, error) {
	at := w.root.ResolveReference(&url.URL{Path: "/robots.txt"})
	res, body, err := w.session.Fetch(ctx, at, maxRobots)
	if err != nil {
		return nil, nil, err
	}
	if res.Status >= 300 && res.Status < 400 || res.Status >= 500 || res.Status == http.StatusTooManyRequests {
		return nil, nil, fault.New(fault.Unavailable, "robots.txt of %s: %s", w.root.Host, page.StatusError(res.Status).Message)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, nil, err
	}
	r, err := robotstxt.FromStatusAndBytes(res.Status, data)
	if err != nil { // a directive that is not that of the standard has a wrong value
		r, err = robotstxt.FromStatusAndBytes(res.Status, standard(data))
	}
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, "robots.txt of %s is not valid", w.root.Host)
	}
	g := r.FindGroup(page.Agent)
	w.client.SetDelay(w.root.Host, g.CrawlDelay)
	return g, r.Sitemaps, nil
}

// standard returns the lines of a robots.txt that RFC 9309 defines, and those of sitemaps.
func standard(data []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		switch strings.ToLower(string(bytes.TrimSpace(name))) {
		case "user-agent", "allow", "disallow", "sitemap":
			out.Write(line)
		}
	}
	return out.Bytes()
}

// readSitemaps adds the pages of the sitemaps that robots.txt names, or of sitemap.xml. If they cannot be read, it is an error if they were read before, because their
// pages would seem to have vanished. Otherwise the pages are found by links.
func (w *crawl) readSitemaps(ctx context.Context, named []string) error {
	var roots []string
	for _, s := range named {
		if u := page.Resolve(w.root, s); u != "" {
			roots = append(roots, u)
		}
	}
	required := w.session.HadSitemap()
	if len(roots) == 0 {
		roots = []string{w.root.JoinPath("sitemap.xml").String(), w.root.ResolveReference(&url.URL{Path: "/sitemap.xml"}).String()}
	}
	queue, seen, partial := roots, map[string]bool{}, false
	for len(queue) > 0 && len(seen) < maxSitemaps {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		children, err := w.readSitemap(ctx, at)
		_, coded := errors.AsType[*fault.Error](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !coded && !errors.Is(err, page.ErrLimit):
			return err
		case err != nil && (required || w.mapped):
			w.failed = append(w.failed, ingest.Failure{Path: at, Reason: fault.Public(err).Message})
			partial = true
		}
		queue = append(queue, children...)
	}
	if len(queue) > 0 {
		w.limited = true
	}
	if partial && !w.mapped {
		return fault.New(fault.Unavailable, "the sitemap of %s could not be read: %s", w.root.Host, w.failed[0].Reason)
	}
	w.lost = partial
	return nil
}

// readSitemap adds the pages of a sitemap, and returns the sitemaps of an index. A sitemap that does not exist has none.
func (w *crawl) readSitemap(ctx context.Context, at string) (children []string, err error) {
	u, err := page.Parse(at)
	if err != nil {
		return nil, err
	}
	res, body, err := w.session.Fetch(ctx, u, maxSitemap)
	if err != nil {
		return nil, err
	}
	if res.Status != http.StatusOK {
		if res.Status == http.StatusNotFound || res.Status == http.StatusGone {
			return nil, nil
		}
		return nil, page.StatusError(res.Status)
	}
	b := bufio.NewReader(body)
	if magic, _ := b.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fault.New(fault.Unavailable, "not valid gzip")
		}
		defer z.Close()
		b = bufio.NewReader(io.LimitReader(z, maxSitemap))
	}
	err = eachLoc(b, func(loc string, index bool) bool {
		to := page.Resolve(u, loc)
		switch {
		case index && to != "" && len(children) < maxSitemaps+1:
			children = append(children, to)
		case !index && w.inside(to):
			w.mapped = true
			w.add(item{url: to})
		}
		return ctx.Err() == nil && !w.limited
	})
	return children, err
}

// eachLoc passes the URLs of a sitemap, or of an index of sitemaps, to do until it returns false. A text has one URL in each line.
func eachLoc(b *bufio.Reader, do func(loc string, index bool) bool) error {
	invalid := fault.New(fault.Unavailable, "not a valid sitemap")
	if head, _ := b.Peek(512); !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff")), "<") {
		lines := bufio.NewScanner(b)
		for lines.Scan() {
			l := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
			if !strings.HasPrefix(l, "http://") && !strings.HasPrefix(l, "https://") {
				return invalid
			}
			if !do(l, false) {
				return nil
			}
		}
		if lines.Err() != nil {
			return invalid
		}
		return nil
	}
	d := xml.NewDecoder(b)
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // URLs are ASCII
	var open []string
	var loc strings.Builder
	for {
		t, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && len(open) == 0:
			return nil
		case err != nil:
			return invalid
		}
		switch t := t.(type) {
		case xml.StartElement:
			if open = append(open, t.Name.Local); len(open) > maxElements || len(open) == 1 && open[0] != "urlset" && open[0] != "sitemapindex" {
				return invalid
			}
			loc.Reset()
		case xml.CharData:
			if loc.Len()+len(t) <= maxLoc {
				loc.Write(t)
			}
		case xml.EndElement:
			if len(open) == 3 && open[2] == "loc" && (open[1] == "url" || open[1] == "sitemap") && !do(loc.String(), open[0] == "sitemapindex") {
				return nil
			}
			open = open[:len(open)-1]
		}
	}
}
