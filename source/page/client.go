// Package page visits web pages for the connectors of websites and of lists of URLs: with one connection and a pause for each host, and with conditional
// requests, so that pages that have not changed are not downloaded again.
package page

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/files/fetch"
)

// Agent is the name that robots.txt and the tags of pages use for this program.
const Agent = "sluice"

// Options configures a [Client]. Fetch is required.
type Options struct {
	Fetch *fetch.Fetcher // must have KeepAlive, and limits the size and time of a page
	Dir   string         // keeps what is known of the pages of each location; empty: nothing is kept, and all pages are downloaded in each sync
	Delay time.Duration  // pause between two requests to a host; default 250 ms
	Pause time.Duration  // longest pause that a server can ask for; default 1 minute
	Limits
}

// Limits are the limits of a listing.
type Limits struct {
	Pages int           // visited; default 10,000
	Depth int           // links from the first page; default 50
	Bytes int64         // downloaded; default 2 GiB
	Time  time.Duration // default 2 hours
	Fails int           // visits that fail in succession; default 10
}

// Client visits pages. It is safe for concurrent use, and is shared by all connectors so that each host has one connection.
type Client struct {
	o Options

	mu    sync.Mutex
	hosts map[string]*host
}

// host is the queue of requests to a host.
type host struct {
	turn  chan struct{} // holds a value while a request is in progress
	users int           // requests in progress and waiting
	next  time.Time     // earliest time of the next request
	delay time.Duration // as robots.txt sets it; 0: the default
}

// NewClient returns a client.
func NewClient(o Options) *Client {
	o.Delay = cmp.Or(o.Delay, 250*time.Millisecond)
	o.Pause = cmp.Or(o.Pause, time.Minute)
	o.Pages = cmp.Or(o.Pages, 10_000)
	o.Depth = cmp.Or(o.Depth, 50)
	o.Bytes = cmp.Or(o.Bytes, 2<<30)
	o.Time = cmp.Or(o.Time, 2*time.Hour)
	o.Fails = cmp.Or(o.Fails, 10)
	return &Client{o: o, hosts: map[string]*host{}}
}

// Limits returns the limits of a listing.
func (c *Client) Limits() Limits { return c.o.Limits }

// SetDelay sets the pause between two requests to a host, in the form host:port of a URL.
func (c *Client) SetDelay(name string, delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host(name).delay = min(max(delay, 0), c.o.Pause)
}

// maxHosts is from how many hosts on those without requests are forgotten.
const maxHosts = 1000

// host returns the queue of a host. The lock must be held.
func (c *Client) host(name string) *host {
	h := c.hosts[name]
	if h == nil {
		if len(c.hosts) >= maxHosts {
			for n, h := range c.hosts {
				if h.users == 0 && h.next.Before(time.Now()) {
					delete(c.hosts, n)
				}
			}
		}
		h = &host{turn: make(chan struct{}, 1)}
		c.hosts[name] = h
	}
	return h
}

// with runs a request to a host when it is its turn. The request returns the shortest pause before the next one.
func (c *Client) with(ctx context.Context, name string, request func() (pause time.Duration)) error {
	c.mu.Lock()
	h := c.host(name)
	h.users++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		h.users--
		c.mu.Unlock()
	}()
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.turn }()
	c.mu.Lock()
	wait := time.Until(h.next)
	c.mu.Unlock()
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	pause := request()
	c.mu.Lock()
	h.next = time.Now().Add(max(cmp.Or(h.delay, c.o.Delay), min(pause, c.o.Pause)))
	c.mu.Unlock()
	return nil
}
