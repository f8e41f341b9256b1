// Package anthropic asks Claude, through Anthropic's Messages API.
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

// Options are a model's settings; the zero value asks Anthropic without a key, which it refuses.
type Options struct {
	// URL is where the API stands, http or https, with or without /v1; empty: Anthropic's. A user and password in it are sent
	// as such, besides the key.
	URL     string
	Key     string        // sent as X-Api-Key to this server alone; it stands in no error and no log
	Model   string        // empty: Claude Sonnet
	Stall   time.Duration // no byte for so long ends a request, also before the first one; 0: 30 s
	Context int           // tokens that the model takes; 0: asked of the API, and otherwise as known of the model's family
	HTTP    *http.Client  // nil: one of its own. Redirects are not followed in any case
	Logger  *slog.Logger  // nil: none
}

// Chat is a model of Anthropic's. Its methods may be called at once.
type Chat struct {
	client       *http.Client
	base         *url.URL
	key          string
	name         string
	stall        time.Duration
	contextLimit int // tokens of context that were set
	log          *slog.Logger
	unsupported  atomic.Uint32

	mu      sync.Mutex // held while the API is asked for the limits
	limits  atomic.Pointer[model.Limits]
	retryAt time.Time // when to ask once more what it did not tell
}

var _ model.Chat = (*Chat)(nil)

// New gives a model. It asks nothing yet; the error is a URL or a key that cannot be one, and holds neither. Nothing is read
// from the environment but what the HTTP client reads.
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

// Name is the model's name.
func (c *Chat) Name() string { return c.name }

// Complete streams the answer. It makes one attempt; only what the API turns out not to take is left out at once.
//
// Of a request with a schema the answer comes as text, also where the model has to be made to call a tool for that.
// Reasoning comes where the model thinks by itself; it is not asked to.
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

// request sends the request, again without what the API says that it does not take. It gives the tool by whose call the
// answer comes, if it does.
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
		// Each answer of this kind adds to what is known, so this comes to an end.
		learnt := unsupportedBy(refused, p) &^ known
		if learnt == 0 {
			return nil, "", err
		}
		c.unsupported.Or(uint32(learnt))
		c.log.Debug("the model does not take a parameter", "host", c.base.Host, "model", c.name, "quirk", uint32(learnt))
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
