package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"time"
)

// HTTP returns the transport over HTTP to a URL. The client may be nil; it should have no timeout, which would end long
// streams.
func HTTP(url string, c *http.Client) Transport {
	if c == nil {
		c = http.DefaultClient
	}
	return &httpTransport{url, c}
}

type httpTransport struct {
	url    string
	client *http.Client
}

// drainTime limits how long the end of a finished stream is awaited, so that its connection can be used again.
const drainTime = 100 * time.Millisecond

// Send implements [Transport].
func (t *httpTransport) Send(ctx context.Context, out Outgoing) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(out.Body))
		if err != nil {
			yield(Message{}, withoutURL(err))
			return
		}
		maps.Copy(r.Header, out.Header)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := t.client.Do(r)
		if err != nil {
			yield(Message{}, withoutURL(err))
			return
		}
		defer res.Body.Close()
		m := Message{Status: res.StatusCode, Header: res.Header}
		if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/event-stream" {
			m.Body, err = io.ReadAll(io.LimitReader(res.Body, out.MaxMessage+1))
			if err == nil && int64(len(m.Body)) > out.MaxMessage {
				err = ErrTooLarge
			}
			if err == nil && !isDocument(m.Body) {
				err = foreign(m)
			}
			yield(m, err)
			return
		}
		for block, err := range splitEvents(res.Body, out.MaxMessage) {
			m.Body = block
			last := err == nil && Last(block)
			if !yield(m, err) || last {
				if last {
					defer time.AfterFunc(drainTime, cancel).Stop()
					_, _ = io.CopyN(io.Discard, res.Body, 1)
				}
				return
			}
		}
	}
}

// withoutURL returns the cause of an error of net/http. A URL may hold a key.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
