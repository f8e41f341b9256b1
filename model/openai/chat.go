package openai

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// defaultModel is the model of OpenAI if none is named: the newest small one, as an answer is mostly reading.
const defaultModel = "gpt-5.4-mini"

// Options configure a [Chat]. The zero value asks OpenAI without a key.
type Options struct {
	// URL is the base URL of the API, http or https, such as http://127.0.0.1:8080/v1; empty: OpenAI's. Without a path it is
	// /v1. A user and password in it are sent if there is no key.
	URL     string
	Key     string        // bearer token for this server only; never in errors and logs
	Model   string        // empty: the first that the server lists; of OpenAI, a current small one
	Stall   time.Duration // idle timeout, also for the first byte; 0: 15 s
	Context int           // context window in tokens; 0: as reported by the server
	HTTP    *http.Client  // nil: a new one. Redirects are never followed
	Logger  *slog.Logger  // nil: none
}

// Chat is a chat model behind OpenAI's protocol. Its methods may be called concurrently.
type Chat struct {
	server       *server
	capabilities *capabilities
	counter      *counter
	unsupported  atomic.Uint32
}

var _ model.Chat = (*Chat)(nil)

// New returns a model. It sends no request. Its errors report an invalid URL or key, without their text.
func New(o Options) (*Chat, error) {
	s, err := newServer(o.URL, o.Key, o.Stall, o.HTTP, o.Logger)
	if err != nil {
		return nil, err
	}
	if o.Model == "" && s.official() {
		o.Model = defaultModel
	}
	f := newCapabilities(s, o.Model, o.Context)
	return &Chat{server: s, capabilities: f, counter: newCounter(s, f)}, nil
}

// Name returns the name of the model, or the host of the server until the name is known.
func (c *Chat) Name() string { return c.capabilities.name() }

// Resolve asks the server for the name of the model if it is not known. It reports whether it is known then.
func (c *Chat) Resolve(ctx context.Context) bool {
	_, err := c.capabilities.modelName(ctx)
	return err == nil
}

// Named reports whether the name of the model is known.
func (c *Chat) Named() bool {
	k, _ := c.capabilities.cached()
	return k.model != ""
}

// Limits returns the limits as configured, as reported by the server (llama.cpp, vLLM, Ollama, OpenRouter and others), or as
// published for OpenAI's models. A server that reports none is asked again after a minute.
func (c *Chat) Limits(ctx context.Context) model.Limits { return c.capabilities.fetch(ctx).limits }

// Count returns the number of tokens of a text: of OpenAI's models by their tokenizer, of llama.cpp by a request, and otherwise
// an upper estimate.
func (c *Chat) Count(ctx context.Context, text string) int { return c.counter.count(ctx, text) }

// Tokenizer returns how Count counts: o200k, server or estimate.
func (c *Chat) Tokenizer(ctx context.Context) string { return c.counter.kind(ctx) }

// Complete implements [model.Chat]. It makes one attempt, and repeats it only without parameters that the server rejects.
func (c *Chat) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		name, err := c.capabilities.modelName(ctx)
		if err != nil {
			yield(model.Piece{}, fail(ctx, c.Name(), err))
			return
		}
		held, watch := transport.NewStallTimer(ctx, c.server.stall)
		defer watch.End()
		res, err := c.request(held, watch, name, r)
		if err != nil {
			yield(model.Piece{}, fail(ctx, name, watch.Cause(err)))
			return
		}
		defer res.Body.Close()
		s := newStream(watch.Reader(res.Body))
		s.onFinish = func() { watch.Shorten(trailerTimeout) }
		defer func() { model.Used(ctx, name, c.cost(name, r, s)) }()
		wanted, err := s.read(func(p model.Piece) bool { return yield(p, nil) })
		if err != nil && wanted {
			yield(model.Piece{}, transport.AfterResponse(ctx, name, watch.Cause(err), res.Request))
			return
		}
		if s.done {
			watch.Drain(res.Body)
		}
	}
}

// request sends the request, and repeats it without parameters that the server rejects.
func (c *Chat) request(ctx context.Context, w *transport.StallTimer, name string, r model.Request) (*http.Response, error) {
	for {
		known := unsupported(c.unsupported.Load())
		p := newRequest(name, withSchemaPrompt(r, known), known, c.server.official())
		w.Start()
		res, err := c.server.send(ctx, c.server.endpoint("chat/completions"), p)
		w.Stop()
		var refused *transport.StatusError
		if !errors.As(err, &refused) {
			return res, err
		}
		// each repetition omits another parameter, so the loop ends
		found := unsupportedBy(refused, p, known)
		if found == 0 || known&found != 0 {
			return nil, err
		}
		c.unsupported.Or(uint32(found))
		c.server.log.Debug("the model's server does not take a parameter", "host", c.server.host(), "parameters", uint32(found))
	}
}

// cost returns the reported or estimated usage.
func (c *Chat) cost(name string, r model.Request, s *stream) model.Usage {
	if s.usage != nil {
		return *s.usage
	}
	u := model.Usage{Estimated: true}
	for _, m := range r.Messages {
		u.Input += perMessage + c.counter.local(name, m.Text)
		for _, call := range m.ToolCalls {
			u.Input += perMessage + c.counter.local(name, call.Name+string(call.Input))
		}
	}
	for _, t := range r.Tools {
		u.Input += perMessage + c.counter.local(name, t.Name+t.Description+string(t.Parameters))
	}
	if r.Schema != nil {
		u.Input += c.counter.local(name, string(r.Schema.JSON))
	}
	u.Reasoning = c.counter.local(name, s.thought.String())
	u.Output = u.Reasoning + c.counter.local(name, s.said.String())
	for _, call := range s.calls.open {
		u.Output += perMessage + c.counter.local(name, call.name+call.input.String())
	}
	return u
}
