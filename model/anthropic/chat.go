// Package anthropic implements Claude models with Anthropic's Messages API.
package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// Options configure a [Chat]. The zero value asks Anthropic without a key, which it refuses.
type Options struct {
	// URL is the base URL of the API, http or https, with or without /v1; empty: Anthropic's. A user and password in it are
	// sent in addition to the key.
	URL     string
	Key     string        // X-Api-Key for this server only; never in errors and logs
	Model   string        // empty: Claude Sonnet
	Stall   time.Duration // idle timeout, also for the first byte; 0: 30 s
	Context int           // context window in tokens; 0: as reported by the API or known of the model's family
	HTTP    *http.Client  // nil: a new one. Redirects are never followed
	Logger  *slog.Logger  // nil: none
}

// Chat is a model of Anthropic. Its methods may be called concurrently.
type Chat struct {
	client       *http.Client
	base         *url.URL
	key          string
	name         string
	stall        time.Duration
	contextLimit int // as configured; 0: unknown
	log          *slog.Logger
	unsupported  atomic.Uint32

	mu      sync.Mutex // held while the limits are requested
	limits  atomic.Pointer[model.Limits]
	retryAt time.Time // when to request them again
}

var _ model.Chat = (*Chat)(nil)

// New returns a model. It sends no request. Its errors report an invalid URL or key, without their text.
func New(o Options) (*Chat, error) {
	base, err := address(o.URL)
	if err != nil {
		return nil, err
	}
	if err := transport.CheckKey(o.Key); err != nil {
		return nil, err
	}
	c := &Chat{client: transport.Client(o.HTTP), base: base, key: o.Key, name: o.Model, stall: o.Stall, contextLimit: o.Context, log: o.Logger}
	if c.name == "" {
		c.name = defaultModel
	}
	if c.stall <= 0 {
		c.stall = defaultStall
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Name returns the name of the model.
func (c *Chat) Name() string { return c.name }

// Complete implements [model.Chat]. It makes one attempt, and repeats it only without parameters that the model rejects.
//
// With a schema, the answer is streamed as text, also if the model has to call a tool for it. Reasoning is not requested, but
// streamed if the model reasons.
func (c *Chat) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		if ctx.Err() != nil {
			yield(model.Piece{}, ctx.Err())
			return
		}
		held, watch := transport.NewStallTimer(ctx, c.stall)
		defer watch.End()
		res, form, err := c.request(held, watch, r)
		if err != nil {
			yield(model.Piece{}, fail(ctx, c.name, watch.Cause(err)))
			return
		}
		defer res.Body.Close()
		s := newStream(watch.Reader(res.Body), form)
		s.onFinish = func() { watch.Shorten(trailerTimeout) }
		defer func() { model.Used(ctx, c.name, s.cost(r)) }()
		listening := true
		reason, err := s.read(func(p model.Piece) bool {
			listening = yield(p, nil)
			return listening
		})
		if !listening {
			return
		}
		if err != nil {
			yield(model.Piece{}, transport.AfterResponse(ctx, c.name, watch.Cause(err), res.Request))
			return
		}
		if yield(model.Piece{Stop: reason}, nil) && s.done {
			watch.Drain(res.Body)
		}
	}
}

// request sends the request, and repeats it without parameters that the model rejects. It returns the name of the tool whose
// input is the answer, if there is one.
func (c *Chat) request(ctx context.Context, w *transport.StallTimer, r model.Request) (*http.Response, string, error) {
	for {
		known := unsupported(c.unsupported.Load())
		p, form, err := newRequest(c.name, r, known)
		if err != nil {
			return nil, "", err
		}
		body, err := json.Marshal(p)
		if err != nil {
			return nil, "", errRequest
		}
		w.Start()
		res, err := c.send(ctx, http.MethodPost, c.base.JoinPath("v1/messages"), bytes.NewReader(body))
		w.Stop()
		var refused *transport.StatusError
		if !errors.As(err, &refused) {
			return res, form, err
		}
		// each repetition omits another parameter, so the loop ends
		found := unsupportedBy(refused, p) &^ known
		if found == 0 {
			return nil, "", err
		}
		c.unsupported.Or(uint32(found))
		c.log.Debug("the model does not take a parameter", "host", c.base.Host, "model", c.name, "parameters", uint32(found))
	}
}

// send sends a request to the API.
func (c *Chat) send(ctx context.Context, method string, at *url.URL, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return nil, errRequest
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", apiVersion)
	if c.key != "" {
		r.Header.Set("X-Api-Key", c.key)
	}
	return transport.CheckStatus(r, c.client.Do)
}
