// Package web is the connector of websites.
package web

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/page"
)

// Kind returns the kind of source. Its locations are URLs; the pages of the site are those whose URLs begin with the location. They are listed in the sitemap
// of the site, if it has one, or else found by the links of the first page.
func Kind(c *page.Client) source.Kind {
	return source.Kind{Suits: suits, Locate: locate, Open: func(location string) (source.Connector, error) {
		u, err := page.Parse(location)
		if err != nil {
			return nil, err
		}
		return &connector{client: c, root: u, location: u.String()}, nil
	}}
}

// suits reports whether a location is a URL. Lists of URLs, whose kind comes first, are not those of websites.
func suits(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// locate returns the one form of a URL, without a query. That of a page is the folder that it is in.
func locate(location string) (string, error) {
	u, err := page.Parse(location)
	if err != nil {
		return "", err
	}
	u.RawQuery = ""
	if page.IsAsset(u) {
		return "", fault.Invalid("location", "want the URL of a page or folder of a website")
	}
	if page.IsPage(u) {
		u = u.ResolveReference(&url.URL{Path: "."})
	}
	return u.String(), nil
}

type connector struct {
	client   *page.Client
	root     *url.URL
	location string
	session  *page.Session // set by List
}

// List implements [source.Connector].
func (c *connector) List(ctx context.Context) (out source.Listing, err error) {
	if err := c.Close(); err != nil {
		return out, err
	}
	if c.session, err = c.client.Open(c.location); err != nil {
		return out, err
	}
	w := newCrawl(c)
	rules, sitemaps, err := w.readRobots(ctx)
	if err != nil {
		return out, err
	}
	w.rules = rules
	if err = w.readSitemaps(ctx, sitemaps); err != nil {
		return out, err
	}
	complete := false
	if err = w.run(ctx); err == nil {
		out, complete = w.listing(), !w.limited
	}
	return out, errors.Join(err, c.session.Save(complete, w.mapped))
}

// Read implements [source.Connector].
func (c *connector) Read(ctx context.Context, d source.Document, limit int64) ([]byte, error) {
	return c.session.Read(ctx, d.URI, limit)
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
