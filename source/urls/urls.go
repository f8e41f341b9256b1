// Package urls is the connector of lists of URLs.
package urls

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/page"
)

// Kind returns the kind of source. Its locations are URLs with spaces between them. Each is that of a document or, if it ends in
// .txt, of a list with one URL in each line. The rules for robots do not apply, because users name each document.
func Kind(c *page.Client) source.Kind {
	return source.Kind{Suits: suits, Locate: locate, Documents: strings.Fields, Open: func(location string) (source.Connector, error) {
		return &connector{client: c, location: location}, nil
	}}
}

// suits reports whether a location is a list or a file that is no page, or several URLs.
func suits(location string) bool {
	all := strings.Fields(location)
	for i, raw := range all {
		u, err := page.Parse(raw)
		if err != nil {
			return false
		}
		if i > 0 || isList(u) || parse.Supported(u.Path) && !page.IsPage(u) {
			return true
		}
	}
	return false
}

// locate returns the URLs in the given order.
func locate(location string) (string, error) {
	var out []string
	for raw := range strings.FieldsSeq(location) {
		u, err := page.Parse(raw)
		if err != nil {
			return "", err
		}
		if !slices.Contains(out, u.String()) {
			out = append(out, u.String())
		}
	}
	if len(out) == 0 {
		return "", fault.Invalid("location", "want URLs, with spaces between them")
	}
	return strings.Join(out, " "), nil
}

// isList reports whether a URL of a location is that of a list.
func isList(u *url.URL) bool { return strings.EqualFold(path.Ext(u.Path), ".txt") }

type connector struct {
	client   *page.Client
	location string
	session  *page.Session // set by List, like final
	final    map[string]string
}

// List implements [source.Connector].
func (c *connector) List(ctx context.Context) (source.Listing, error) {
	if err := c.Close(); err != nil {
		return source.Listing{}, err
	}
	s, err := c.client.Open(c.location)
	if err != nil {
		return source.Listing{}, err
	}
	c.session, c.final = s, map[string]string{}
	l := &listing{Session: s, final: c.final, seen: map[string]bool{}}
	err = l.run(ctx, strings.Fields(c.location))
	if err = errors.Join(err, s.Save(err == nil, false)); err != nil {
		return source.Listing{}, err
	}
	return l.out, nil
}

// Read implements [source.Connector].
func (c *connector) Read(ctx context.Context, d source.Document, limit int64) ([]byte, error) {
	final, ok := c.final[d.URI]
	if !ok {
		return nil, fault.New(fault.NotFound, "is not in the list")
	}
	return c.session.Read(ctx, final, limit)
}

// Close implements [source.Connector].
func (c *connector) Close() error {
	if c.session == nil {
		return nil
	}
	err := c.session.Close()
	c.session = nil
	return err
}

// listing is one listing.
type listing struct {
	*page.Session
	out   source.Listing
	final map[string]string // URLs of the documents after redirects, by URI
	seen  map[string]bool   // URLs, also after redirects
}

func (l *listing) run(ctx context.Context, given []string) error {
	for _, raw := range given {
		u, err := page.Parse(raw)
		if err != nil {
			return err
		}
		list := []string{u.String()}
		if isList(u) {
			if list, err = l.read(ctx, u); err != nil {
				return err
			}
		}
		for _, u := range list {
			if err := l.visit(ctx, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxList limits the bytes of a list.
const maxList = 16 << 20

// read returns the URLs of a list. Lines that begin with # are comments.
func (l *listing) read(ctx context.Context, at *url.URL) (out []string, err error) {
	failed := func(code fault.Code, why string) error {
		return fault.New(code, "the list %s could not be read: %s", at, why)
	}
	res, body, err := l.Fetch(ctx, at, maxList)
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return nil, failed(e.Code, e.Message)
	}
	if err != nil {
		return nil, err
	}
	if res.Status != http.StatusOK {
		return nil, failed(fault.Unavailable, page.StatusError(res.Status).Message)
	}
	lines, n := bufio.NewScanner(body), 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		u, err := page.Parse(line)
		switch {
		case err == nil:
			out = append(out, u.String())
		case len(out) == 0:
			return nil, failed(fault.InvalidRequest, fmt.Sprintf("line %d is not a URL", n))
		default:
			l.fail(at.String(), fmt.Sprintf("line %d is not a URL", n))
		}
	}
	if lines.Err() != nil {
		return nil, failed(fault.InvalidRequest, fmt.Sprintf("line %d is too long", n+1))
	}
	return out, nil
}

// maxHops is how many redirects are followed.
const maxHops = 5

// visit adds the document of a URL. One that cannot be read is kept, unless it is gone.
func (l *listing) visit(ctx context.Context, u string) error {
	if l.seen[u] {
		return nil
	}
	l.seen[u] = true
	p, err := l.Visit(ctx, u)
	for hop := 0; err == nil && p.Redirect != "" && hop < maxHops; hop++ {
		p, err = l.Visit(ctx, p.Redirect)
	}
	failure, coded := errors.AsType[*fault.Error](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, page.ErrLimit):
		failure = fault.New(fault.TooLarge, "the limit of pages, bytes or time was reached")
	case err != nil && !coded:
		return err
	case err == nil && (p.Status == http.StatusNotFound || p.Status == http.StatusGone):
		l.fail(u, fmt.Sprintf("is gone: the server answered with status %d", p.Status))
		return nil
	case err == nil && p.Redirect != "":
		failure = fault.New(fault.Unavailable, "redirects more than %d times", maxHops)
	case err == nil && p.Status != http.StatusOK:
		failure = page.StatusError(p.Status)
	}
	if failure != nil {
		l.Keep(u)
		l.out.Unread = append(l.out.Unread, u)
		l.fail(u, failure.Message)
		return nil //nolint:nilerr // the listing has the failure
	}
	final := p.URL.String()
	if !p.Document || u != final && l.seen[final] {
		l.out.Ignored++
		return nil
	}
	l.seen[final] = true
	d := l.DocumentOf(p, strings.Trim(p.URL.Path, "/"))
	d.URI, l.final[u] = u, final
	l.out.Documents = append(l.out.Documents, d)
	return nil
}

func (l *listing) fail(path, reason string) {
	l.out.Failed = append(l.out.Failed, ingest.Failure{Path: path, Reason: reason})
}
