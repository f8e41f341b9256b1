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

// Ask asks a question in the forge protocol. It is sent when the stream is read. A question that the server does not take now is sent again;
// one that may have reached the server is not, since it would be asked twice.
func (c *Client) Ask(ctx context.Context, q forge.Request) *Stream {
	return c.asking(ctx, forge.Name, "", "/api/query/stream", q.Query, q)
}

// AskOnce asks a question and gives the whole answer when it is there. An answer that is not whole comes with the error that says why.
func (c *Client) AskOnce(ctx context.Context, q forge.Request) (a forge.Answer, err error) {
	if err = c.send(ctx, "ask", "/api/query", q, &a); err == nil && a.Error != nil {
		err = fmt.Errorf("ask: %w", &fault.Error{Code: fault.Code(a.Error.Code), Message: a.Error.Message})
	}
	return a, err
}

// Stream streams a run of the server, live or finished, in the forge protocol, from behind the cursor; the empty one is the start. What the
// cursor leaves out is not in the stream's snapshots.
func (c *Client) Stream(ctx context.Context, run, after string) *Stream {
	return c.resume(ctx, forge.Name, "", run, after)
}

// StreamIn streams a run in a protocol of the server, whichever it was started in. Snapshots are made of forge and knowledge, in which a stream
// is also resumed; of other protocols there are only the events of those that are server-sent.
func (c *Client) StreamIn(ctx context.Context, protocol, run, after string) *Stream {
	return c.resume(ctx, protocol, "", run, after)
}

func (c *Client) resume(ctx context.Context, protocol, view, run, after string) *Stream {
	s := c.stream(ctx, protocol, view, "", nil)
	s.run, s.after, s.fold.s.Run = run, after, run
	return s
}

// asking makes the stream of a question.
func (c *Client) asking(ctx context.Context, protocol, view, path, question string, body any) *Stream {
	return c.stream(ctx, protocol, view, question, func(ctx context.Context) (*http.Response, error) {
		r, err := encoded(path, body)
		if err != nil {
			return nil, err
		}
		r.again, r.stream = unsent, true
		return c.do(ctx, r)
	})
}

// view gives the parameters of a run's stream that bring the form which the options ask for.
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
