// Package failover makes one model of several: the first that works answers, and where it breaks off the next goes on.
package failover

import (
	"cmp"
	"context"
	_ "embed"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/model"
)

// goOn is what a model is told that takes over in the middle of an answer.
//
//go:embed continue.txt
var goOn string

// Options are what a [Chain] may be told. The zero value works.
type Options struct {
	// Rounds is how often the models are gone through in all, as long as they fail in ways that pass; 0: 3.
	Rounds int
	// Backoff bounds the wait before the second round, and its double that before the third; 0: half a second. The wait is
	// drawn evenly from nothing to the bound ("full jitter").
	Backoff time.Duration
	// MaxWait bounds each wait between rounds; 0: 10 s. A provider that asks for more is not asked again.
	MaxWait time.Duration
	// Cooldown is how long a model that failed is skipped before one request tries it; 0: 30 s.
	Cooldown time.Duration
	// Reserve is the time that a model which says nothing leaves to the one behind it, where ctx has a deadline; 0: 2 s.
	// Of less than twice as much it leaves half.
	Reserve time.Duration
	Logger  *slog.Logger // told of each failure: model, kind, status; nil: nobody
}

// Chain is a [model.Chat] over several, in order of preference. Its methods may be called at once.
//
// Each model has a circuit breaker: one that could not be reached or refused the key is skipped at once for
// Options.Cooldown, one that failed otherwise after the third time in a row, one that limits requests for as long as it says
// (5 minutes at most). What a model says of a request ([model.TooLong], [model.Rejected], [model.Malformed],
// [model.Empty]) is not held against it, nor is the end of a caller's ctx.
type Chain struct {
	links []*link
	opts  Options
}

// New makes a chain of at least one model, best first. It panics if there is none.
func New(chats []model.Chat, o Options) *Chain {
	if len(chats) == 0 {
		panic("failover: no models")
	}
	o.Rounds = cmp.Or(max(o.Rounds, 0), 3)
	o.Backoff = cmp.Or(max(o.Backoff, 0), time.Second/2)
	o.MaxWait = cmp.Or(max(o.MaxWait, 0), 10*time.Second)
	o.Cooldown = cmp.Or(max(o.Cooldown, 0), 30*time.Second)
	o.Reserve = cmp.Or(max(o.Reserve, 0), 2*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Chain{opts: o}
	for _, chat := range chats {
		c.links = append(c.links, newLink(chat, o.Cooldown))
	}
	return c
}

// first gives the model that would be asked first: where all are skipped, the first of them.
func (c *Chain) first() *link {
	for _, l := range c.links {
		if !l.skipped() {
			return l
		}
	}
	return c.links[0]
}

// Name gives the name of the model that would be asked first.
func (c *Chain) Name() string { return c.first().chat.Name() }

// Count counts by the model that would be asked first.
func (c *Chain) Count(ctx context.Context, text string) int { return c.first().chat.Count(ctx, text) }

// Limits gives the least that is known of any model, so that what fits the chain fits each. A model that is being skipped is
// not asked: what it told before counts.
func (c *Chain) Limits(ctx context.Context) model.Limits {
	var wg sync.WaitGroup
	for _, l := range c.links {
		wg.Go(func() { l.learn(ctx) })
	}
	wg.Wait()
	var all model.Limits
	for _, l := range c.links {
		known := l.known()
		all.Context = least(all.Context, known.Context)
		all.Output = least(all.Output, known.Output)
	}
	return all
}

// least gives the smaller of two limits, 0 being not known.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Complete asks the first model that is not being skipped, and after an [model.Error] the next. Each such move is told to
// [model.Failed], skipped models included; an error that is returned is not.
//
// When all have failed and nothing was said, those whose failure passes are asked again after a wait. If all are being
// skipped the error is [model.Skipped], at once: only a request that began before that asks on in its rounds.
//
// A model that fails after it has said something is followed by [model.Piece.Resumed] and what the next says from there on;
// what that repeats is taken away. Where none can go on, or the next says something else, the answer ends with
// [model.StopIncomplete] and no error. Of a request with a schema or tools nothing is given before the model has ended.
//
// The models go on after [model.Request.Prefix] in the same way.
func (c *Chain) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		a := &attempt{
			chain: c, request: r, yield: yield, hold: r.Schema != nil || len(r.Tools) > 0, failed: make([]failure, len(c.links)),
			said: []byte(r.Prefix),
		}
		a.run(ctx)
	}
}

// CanContinue implements [model.Continuer].
func (c *Chain) CanContinue() bool { return true }

// resume gives the request by which the model of the link goes on after what was said.
func resume(ctx context.Context, l *link, r model.Request, said string) model.Request {
	if strings.TrimSpace(said) == "" {
		return r
	}
	messages := append([]model.Message(nil), r.Messages...)
	r.Messages = append(messages,
		model.Message{Role: model.Assistant, Text: said},
		model.Message{Role: model.User, Text: strings.TrimSpace(goOn)})
	if r.MaxTokens > 0 {
		r.MaxTokens = max(r.MaxTokens-l.chat.Count(ctx, said), 16)
	}
	return r
}
