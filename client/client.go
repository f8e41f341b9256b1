// Package client is a client of a Sluice server: questions, files, vector stores, stored responses and runs. A stream that
// is interrupted is resumed after its last event. Streams of the forge and knowledge protocols are folded to a [Snapshot].
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

// Client is a client of one server. Its methods are safe for concurrent use. Error replies of the server are of the type
// [fault.Error]; see [errors.AsType]. Other errors are those of the network or the context.
type Client struct {
	base   string
	name   string // identifies this client, so that it can only cancel its own questions
	header http.Header
	o      Options
}

// Options configures a client. The zero value works.
type Options struct {
	HTTP *http.Client // default: a client without a timeout, since streams are long
	// Header is sent with every request, for example Authorization. A user and password in the address of the server become
	// a header too. The default HTTP client does not send these headers to other hosts after a redirect.
	Header  http.Header
	Key     string        // API key, sent as Authorization: Bearer unless Header has that field; empty: none
	Retries int           // consecutive failed connections before a stream fails, and repetitions of other requests; default 5
	Backoff time.Duration // before the first retry; grows to 10 s, with jitter; default 200 ms
	// IdleTimeout is the time after which a stream without events or heartbeats is resumed on a new connection. Servers
	// send a heartbeat every 15 s. The default is 60 s.
	IdleTimeout time.Duration
	// OnRetry is called before each wait, from the goroutine that waits.
	OnRetry func(err error, wait time.Duration)
}

// New returns a client of the server at base, such as http://127.0.0.1:8000.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("make client: want an http or https URL of a server, such as http://localhost:8000") // does not show base, which may contain a password
	}
	c := &Client{o: o, name: rand.Text(), header: http.Header{}}
	maps.Copy(c.header, o.Header.Clone())
	if o.Key != "" && c.header.Get("Authorization") == "" {
		c.header.Set("Authorization", "Bearer "+o.Key)
	}
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
	if c.o.IdleTimeout <= 0 {
		c.o.IdleTimeout = time.Minute
	}
	if c.o.Backoff <= 0 {
		c.o.Backoff = 200 * time.Millisecond
	}
	return c, nil
}

// redirect removes the configured headers from a request to another host.
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

// request describes an HTTP request and when to repeat it.
type request struct {
	method, path string
	header       http.Header
	contentType  string                    // Content-Type of the body
	body         func() (io.Reader, error) // returns the body for each attempt; nil: none
	size         int64                     // of the body in bytes; negative: unknown
	retryable    func(err error) bool      // whether to send the request again after an error; nil: see [repeatable]
	stream       bool                      // the reply lasts as long as the run; see Options.IdleTimeout
}

func get(path string) request { return request{method: http.MethodGet, path: path} }

// encoded returns a POST request with a JSON body.
func encoded(path string, v any) (request, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return request{}, fmt.Errorf("encode request: %w", err)
	}
	return request{method: http.MethodPost, path: path, contentType: "application/json", size: int64(len(b)),
		body: func() (io.Reader, error) { return strings.NewReader(string(b)), nil }}, nil
}

// do sends a request, and repeats it after temporary failures. The caller closes the body.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	retryable := r.retryable
	if retryable == nil {
		retryable = func(err error) bool { return repeatable(r.method, err) }
	}
	waits := c.newBackoff()
	for tried := 0; ; tried++ {
		res, err := c.once(ctx, r)
		if err == nil || tried == c.o.Retries || !retryable(err) {
			return res, err
		}
		if err := c.pause(ctx, waits, err); err != nil {
			return nil, err
		}
	}
}

// once sends a request one time. A status of 300 or more is an error; see [replyError].
func (c *Client) once(ctx context.Context, r request) (*http.Response, error) {
	if !r.stream {
		return c.answer(ctx, r)
	}
	ctx, w := watch(ctx, c.o.IdleTimeout)
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
		req.Header.Set("Content-Type", r.contentType)
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
	if res.StatusCode < 300 { // redirects that can be followed were followed
		return res, nil
	}
	defer res.Body.Close()
	return nil, refused(res)
}

// maxReply limits the size of a JSON reply, in bytes.
const maxReply = 256 << 20

// call sends a request and decodes the reply into v, unless v is nil. The string what describes the call in errors.
func (c *Client) call(ctx context.Context, what string, r request, v any) error {
	res, err := c.do(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer res.Body.Close()
	if v == nil || res.StatusCode == http.StatusNoContent {
		_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // for the connection to be reused
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxReply)).Decode(v); err != nil {
		return fmt.Errorf("%s: read reply: %w", what, err)
	}
	return nil
}

// send is call for a POST request with a JSON body.
func (c *Client) send(ctx context.Context, what, path string, body, v any) error {
	r, err := encoded(path, body)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return c.call(ctx, what, r, v)
}

// Post sends a body as JSON to any path, and decodes the JSON reply into v.
func (c *Client) Post(ctx context.Context, path string, body, v any) error {
	return c.send(ctx, "post "+path, path, body, v)
}

// Patch is [Client.Post] with the method PATCH.
func (c *Client) Patch(ctx context.Context, path string, body, v any) error {
	return c.sendAs(ctx, http.MethodPatch, "patch "+path, path, body, v)
}

// Delete sends a DELETE request to any path, and decodes the JSON reply, if there is one, into v.
func (c *Client) Delete(ctx context.Context, path string, v any) error {
	return c.call(ctx, "delete "+path, request{method: http.MethodDelete, path: path}, v)
}

// Get decodes the JSON reply for any path into v.
func (c *Client) Get(ctx context.Context, path string, v any) error {
	return c.call(ctx, "get "+path, get(path), v)
}
