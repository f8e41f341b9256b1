package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Ask asks a question in the forge protocol. The request is sent when the stream is read. If the server is overloaded or
// unavailable, it is sent again. It is not sent again after other failures, because the server might answer the question
// twice.
func (c *Client) Ask(ctx context.Context, q forge.Request) *Stream {
	return c.asking(ctx, forge.Name, "", "/api/query/stream", q.Query, q)
}

// AskOnce asks a question and returns the complete answer. If the run failed, it returns the incomplete answer and an
// error.
func (c *Client) AskOnce(ctx context.Context, q forge.Request) (a forge.Answer, err error) {
	if err = c.send(ctx, "ask", "/api/query", q, &a); err == nil && a.Error != nil {
		err = fmt.Errorf("ask: %w", &fault.Error{Code: fault.Code(a.Error.Code), Message: a.Error.Message})
	}
	return a, err
}

// Stream streams a run in the forge protocol, whether it is live or has ended, from after the cursor. The empty cursor is
// the start. The snapshots of the stream only contain what follows the cursor.
func (c *Client) Stream(ctx context.Context, run, after string) *Stream {
	return c.resume(ctx, forge.Name, "", run, after)
}

// StreamIn streams a run in any protocol of the server that uses server-sent events. Only forge and knowledge have
// snapshots, and only their streams are resumed after a failure.
func (c *Client) StreamIn(ctx context.Context, protocol, run, after string) *Stream {
	return c.resume(ctx, protocol, "", run, after)
}

func (c *Client) resume(ctx context.Context, protocol, view, run, after string) *Stream {
	s := c.stream(ctx, protocol, view, "", nil)
	s.run, s.after, s.fold.s.Run = run, after, run
	return s
}

// asking returns the stream of a question.
func (c *Client) asking(ctx context.Context, protocol, view, path, question string, body any) *Stream {
	return c.stream(ctx, protocol, view, question, func(ctx context.Context) (*http.Response, error) {
		r, err := encoded(path, body)
		if err != nil {
			return nil, err
		}
		r.retryable, r.stream = unsent, true
		return c.do(ctx, r)
	})
}

// view returns the URL parameters of the mode and the rate of a stream.
func view(o *knowledge.StreamOptions, perSecond float64) string {
	mode := ""
	if o != nil {
		mode = o.Mode
		if o.SnapshotsPerSecond != 0 {
			perSecond = o.SnapshotsPerSecond
		}
	}
	v := ""
	if mode != "" {
		v += "&mode=" + url.QueryEscape(mode)
	}
	if perSecond != 0 {
		v += fmt.Sprintf("&snapshots_per_second=%g", perSecond)
	}
	return v
}
