// Package client speaks to a Sluice server: questions, files, vector stores, stored responses, runs. A stream that is cut goes on by itself: the same
// run, from the next event. What a stream tells adds up to a [Snapshot], in whatever protocol it comes.
package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client talks to one server. Its methods may be called at once. Errors that the server answers are [fault.Error], to be asked for
// with [errors.As]; others are of the network or of the context.
type Client struct {
	base   string
	name   string // by which the server knows whose questions a cancel takes back
	header http.Header
	o      Options
}

// Options tune a client. The zero value works.
type Options struct {
	HTTP *http.Client // default: one without a time limit, since streams are long
	// Header is sent with every request, such as Authorization. A user and password in the server's address become one too. The
	// default HTTP client gives none of it to another host that it is redirected to.
	Header  http.Header
	Retries int           // connections tried in a row without an event before a stream gives up, and times that a request is repeated; default 5
	Backoff time.Duration // before the first of them, growing to 10 s, with jitter; default 200 ms
	// Silence is how long a stream may bring nothing, not even a sign of life, before its connection is given up for a new one. Servers send
	// one every 15 s; default 60 s.
	Silence time.Duration
	// Retrying is called before each wait, from the goroutine that waits.
	Retrying func(err error, wait time.Duration)
}

// New makes a client of the server at base, such as http://127.0.0.1:8000.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("make client: want an http or https URL of a server") // without the text, which may hold a password
	}
	c := &Client{o: o, name: rand.Text(), header: http.Header{}}
	maps.Copy(c.header, o.Header.Clone())
	if u.User != nil {
		if c.header.Get("Authorization") == "" {
			password, _ := u.User.Password()
			req := http.Request{Header: c.header}
			req.SetBasicAuth(u.User.Username(), password)
		}
		u.User = nil
	}
	u.RawQuery, u.Fragment = "", ""
	c.base = strings.TrimRight(u.String(), "/")
	if c.o.HTTP == nil {
		c.o.HTTP = &http.Client{Transport: http.DefaultTransport, CheckRedirect: c.redirect}
	}
	if c.o.Retries <= 0 {
		c.o.Retries = 5
	}
	if c.o.Silence <= 0 {
		c.o.Silence = time.Minute
	}
	if c.o.Backoff <= 0 {
		c.o.Backoff = 200 * time.Millisecond
	}
	return c, nil
}

// redirect keeps what is for this server's eyes from another's.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme && req.URL.Scheme != "https" {
		for name := range c.header {
			req.Header.Del(name)
		}
	}
	return nil
}

// request is one to be sent, and how often.
type request struct {
	method, path string
	header       http.Header
	kind         string                    // Content-Type of the body
	body         func() (io.Reader, error) // makes the body anew for each try; nil: none
	size         int64                     // of the body in bytes; negative: not known
	again        func(err error) bool      // whether what failed may be sent again; nil: see [repeatable]
	stream       bool                      // the answer goes on for as long as a run does; see Options.Silence
}

func get(path string) request { return request{method: http.MethodGet, path: path} }

// encoded is a POST with a JSON body.
func encoded(path string, v any) (request, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return request{}, fmt.Errorf("encode request: %w", err)
	}
	return request{method: http.MethodPost, path: path, kind: "application/json", size: int64(len(b)),
		body: func() (io.Reader, error) { return strings.NewReader(string(b)), nil }}, nil
}

// do sends a request until it is answered, it may not be sent again, or it was tried often enough. The body is the caller's to close.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	again := r.again
	if again == nil {
		again = func(err error) bool { return repeatable(r.method, err) }
	}
	waits := c.waits()
	for tried := 0; ; tried++ {
		res, err := c.once(ctx, r)
		if err == nil || tried == c.o.Retries || !again(err) {
			return res, err
		}
		if err := c.pause(ctx, waits, err); err != nil {
			return nil, err
		}
	}
}

// once sends a request. A status of 300 and over is an error: see [refusal].
func (c *Client) once(ctx context.Context, r request) (*http.Response, error) {
	if !r.stream {
		return c.answer(ctx, r)
	}
	ctx, w := watch(ctx, c.o.Silence)
	res, err := c.answer(ctx, r)
	return w.answered(res, err)
}

func (c *Client) answer(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		var err error
		if body, err = r.body(); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		req.ContentLength = r.size
		req.Header.Set("Content-Type", r.kind)
	}
	if r.method == http.MethodPost {
		req.Header.Set("Sluice-Client", c.name)
	}
	maps.Copy(req.Header, c.header)
	maps.Copy(req.Header, r.header)
	res, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 { // redirects that can be followed were
		return res, nil
	}
	defer res.Body.Close()
	return nil, refused(res)
}

// maxReply bounds a JSON reply, in bytes.
const maxReply = 256 << 20

// call sends a request and reads the JSON object of the reply into v, unless v is nil. What says what was being done, for errors.
func (c *Client) call(ctx context.Context, what string, r request, v any) error {
	res, err := c.do(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer res.Body.Close()
	if v == nil || res.StatusCode == http.StatusNoContent {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(v); err != nil {
		return fmt.Errorf("%s: read reply: %w", what, err)
	}
	return nil
}

// send is call for a POST with a JSON body.
func (c *Client) send(ctx context.Context, what, path string, body, v any) error {
	r, err := encoded(path, body)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return c.call(ctx, what, r, v)
}

// Get reads one JSON object of the server into v, from any path.
func (c *Client) Get(ctx context.Context, path string, v any) error {
	return c.call(ctx, "get "+path, get(path), v)
}
