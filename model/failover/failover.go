// Package failover combines several chat models: the first one that works answers, and if it fails in the middle, the next one
// continues.
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

// continuePrompt is the instruction for a model that takes over in the middle of an answer.
//
//go:embed continue.txt
var continuePrompt string

// Options configure a [Chain]. The zero value works.
type Options struct {
	// Rounds is how often all models are tried while their failures are transient; 0: 3.
	Rounds int
	// Backoff is the maximum wait before the second round. It doubles with each round; 0: half a second. Waits are random
	// between zero and the maximum ("full jitter").
	Backoff time.Duration
	// MaxWait bounds each wait between rounds; 0: 10 s. A provider that asks for a longer wait is not asked again.
	MaxWait time.Duration
	// Cooldown is how long a circuit breaker stays open before one request probes the model; 0: 30 s.
	Cooldown time.Duration
	// Reserve is the time that a silent model must leave to the next one if ctx has a deadline; 0: 2 s. If less than twice as
	// much is left, it is half of that.
	Reserve time.Duration
	Logger  *slog.Logger // receives each failure; nil: none
}

// Chain is a [model.Chat] over several models, in order of preference. Its methods may be called concurrently.
//
// Each model has a circuit breaker. It opens after one failure if the model is unreachable or refuses the key, and after three
// failures in a row otherwise. A model that limits requests is skipped for as long as it asks, at most 5 minutes. Failures of a
// single request ([model.TooLong], [model.Rejected], [model.Malformed], [model.Empty]) and the end of the caller's ctx do not
// count.
type Chain struct {
	links []*link
	opts  Options
}

// New returns a chain of models, best first. It panics if there are none.
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

// first returns the first model whose circuit breaker is closed, or the first model if all are open.
func (c *Chain) first() *link {
	for _, l := range c.links {
		if !l.skipped() {
			return l
		}
	}
	return c.links[0]
}

// Name returns the name of the model that would be asked first.
func (c *Chain) Name() string { return c.first().chat.Name() }

// Count counts with the model that would be asked first.
func (c *Chain) Count(ctx context.Context, text string) int { return c.first().chat.Count(ctx, text) }

// Limits returns the minimum of the known limits, so that a request that fits the chain fits each model. Skipped models are not
// asked; their last known limits count.
func (c *Chain) Limits(ctx context.Context) model.Limits {
	var wg sync.WaitGroup
	for _, l := range c.links {
		wg.Go(func() { l.fetchLimits(ctx) })
	}
	wg.Wait()
	var all model.Limits
	for _, l := range c.links {
		known := l.cachedLimits()
		all.Context = least(all.Context, known.Context)
		all.Output = least(all.Output, known.Output)
	}
	return all
}

// least returns the smaller of two limits, where 0 is unknown.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Complete asks the first model that is not skipped, and the next one after an [model.Error]. Each takeover is reported to
// [model.Failed], also for skipped models; an error that is returned is not.
//
// When all models have failed without any text, those with a transient failure are asked again after a wait. If all are skipped
// from the start, the error is [model.Skipped] at once.
//
// If a model fails after its first text, the sequence has a [model.Piece.Resumed] and then the continuation of the next model,
// without what it repeats. If no model can continue, or the next one diverges, the answer ends with [model.StopIncomplete] and
// no error. With a schema or tools, nothing is yielded before a model has finished.
//
// [model.Request.Prefix] is continued in the same way.
func (c *Chain) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		a := &attempt{
			chain: c, request: r, yield: yield, buffered: r.Schema != nil || len(r.Tools) > 0, failed: make([]failure, len(c.links)),
			prefix: []byte(r.Prefix),
		}
		a.run(ctx)
	}
}

// CanContinue implements [model.Continuer].
func (c *Chain) CanContinue() bool { return true }

// continuation returns the request with which a model continues a prefix.
func continuation(ctx context.Context, l *link, r model.Request, prefix string) model.Request {
	if strings.TrimSpace(prefix) == "" {
		return r
	}
	messages := append([]model.Message(nil), r.Messages...)
	r.Messages = append(messages,
		model.Message{Role: model.Assistant, Text: prefix},
		model.Message{Role: model.User, Text: strings.TrimSpace(continuePrompt)})
	if r.MaxTokens > 0 {
		r.MaxTokens = max(r.MaxTokens-l.chat.Count(ctx, prefix), 16)
	}
	return r
}
