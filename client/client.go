// Package client asks a Sluice server. A stream that is cut goes on by itself: the same run, from the next event.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Client talks to one server. Its methods may be called at once.
type Client struct {
	base string
	o    Options
}

// Options tune a client. The zero value works.
type Options struct {
	HTTP    *http.Client  // default: one without a time limit, since streams are long
	Retries int           // connections tried in a row without an event before a stream gives up; default 5
	Backoff time.Duration // before the first of them, doubled each time up to 10 s, with jitter; default 200 ms
}

// New makes a client of the server at base, such as http://127.0.0.1:8000.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("make client: want an http or https URL, got %q", base)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport}
	}
	if o.Retries <= 0 {
		o.Retries = 5
	}
	if o.Backoff <= 0 {
		o.Backoff = 200 * time.Millisecond
	}
	return &Client{base: strings.TrimRight(base, "/"), o: o}, nil
}

// Event is one event of a run's stream.
type Event struct {
	Run  string // the run's id
	ID   string // the cursor behind the event
	Name string // such as token
	Data json.RawMessage
}

// Last tells whether no event follows.
func (e Event) Last() bool {
	switch e.Name {
	case "done":
		return true
	case "error":
		var p forge.Error
		return json.Unmarshal(e.Data, &p) != nil || !p.Recoverable
	}
	return false
}

// Ask asks a question and streams the answer's events in the forge protocol, each once and in order. A connection that
// breaks is made anew. The last event is done or an error that is not recoverable; any error of the connection that the
// client cannot get over is the last thing yielded. Ending ctx or breaking off leaves the run to the server's grace period.
func (c *Client) Ask(ctx context.Context, q forge.Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		body, err := json.Marshal(q)
		if err != nil {
			yield(Event{}, fmt.Errorf("encode question: %w", err))
			return
		}
		res, err := c.send(ctx, http.MethodPost, "/api/query/stream", body, nil) //nolint:bodyclose // read closes it
		if err != nil {
			yield(Event{}, fmt.Errorf("ask: %w", err))
			return
		}
		c.follow(ctx, res, res.Header.Get("Sluice-Run-Id"), "", yield)
	}
}

// Stream streams a run's events from behind the cursor, live or finished, as [Client.Ask] does. The empty cursor is the
// start.
func (c *Client) Stream(ctx context.Context, run, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		res, err := c.open(ctx, run, after) //nolint:bodyclose // read closes it
		if err != nil {
			yield(Event{}, fmt.Errorf("stream run: %w", err))
			return
		}
		c.follow(ctx, res, run, after, yield)
	}
}

func (c *Client) open(ctx context.Context, run, after string) (*http.Response, error) {
	header := http.Header{}
	if after != "" {
		header.Set("Last-Event-ID", after)
	}
	return c.send(ctx, http.MethodGet, "/runs/"+url.PathEscape(run)+"/stream?protocol="+forge.Name, nil, header)
}

// follow reads a stream to its end, over as many connections as that takes.
func (c *Client) follow(ctx context.Context, res *http.Response, run, after string, yield func(Event, error) bool) {
	failures, wait := 0, c.o.Backoff
	var err error
	for {
		before := after
		if res != nil {
			var done bool
			if done, err = c.read(res, run, &after, yield); done {
				return
			}
		}
		if after != before {
			failures, wait = 0, c.o.Backoff
		}
		if failures++; failures > c.o.Retries {
			yield(Event{}, fmt.Errorf("stream run %s: connection lost behind event %s: %w", run, after, err))
			return
		}
		if err := pause(ctx, wait); err != nil {
			yield(Event{}, err)
			return
		}
		wait = min(2*wait, 10*time.Second)
		if res, err = c.open(ctx, run, after); err != nil { //nolint:bodyclose // read closes it
			if f, ok := errors.AsType[*fault.Error](err); ok && f.Code != fault.Overloaded && f.Code != fault.Internal {
				yield(Event{}, fmt.Errorf("stream run %s: %w", run, err))
				return
			}
		}
	}
}

// read yields a connection's events. Done: the last event was yielded, or nobody wants more.
func (c *Client) read(res *http.Response, run string, after *string, yield func(Event, error) bool) (done bool, err error) {
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return true, nil // the run has ended, and nothing is behind the cursor
	}
	for ev, err := range sse.NewReader(res.Body, 0).All() {
		if err != nil {
			return false, err
		}
		*after = ev.ID
		e := Event{Run: run, ID: ev.ID, Name: ev.Name, Data: json.RawMessage(ev.Data)}
		if !yield(e, nil) || e.Last() {
			return true, nil
		}
	}
	return false, io.ErrUnexpectedEOF
}

// pause waits between half of d and d.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send makes a request. A status of 400 and over is a [fault.Error] with the server's code and message.
func (c *Client) send(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 400 {
		return res, nil
	}
	defer res.Body.Close()
	var p forge.Error
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if json.Unmarshal(raw, &p) != nil || p.Code == "" {
		return nil, fault.New(fault.Internal, "the server answered %s", strconv.Itoa(res.StatusCode))
	}
	return nil, &fault.Error{Code: fault.Code(p.Code), Message: p.Message, Field: p.Field}
}

// Get reads one JSON object of the server into v.
func (c *Client) Get(ctx context.Context, path string, v any) error {
	res, err := c.send(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(v); err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	return nil
}

// Cancel stops a run.
func (c *Client) Cancel(ctx context.Context, run string) error {
	res, err := c.send(ctx, http.MethodPost, "/runs/"+url.PathEscape(run)+"/cancel", nil, nil)
	if err != nil {
		return fmt.Errorf("cancel run: %w", err)
	}
	return res.Body.Close()
}
