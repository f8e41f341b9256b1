package failover_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/model"
)

// scripted is a model that plays one act per request, and repeats the last one.
type scripted struct {
	name string
	acts []act

	mu       sync.Mutex
	requests []model.Request
	limits   atomic.Int32 // calls of Limits
}

// act is one answer of a model: its pieces, the time before each, and its failure.
type act struct {
	pieces []model.Piece
	every  time.Duration
	fails  error
	hangs  bool // sends nothing more until ctx ends
}

func (s *scripted) Name() string                          { return s.name }
func (s *scripted) Count(_ context.Context, t string) int { return len(t) }
func (s *scripted) Limits(context.Context) model.Limits {
	s.limits.Add(1)
	return model.Limits{Context: 100 * len(s.name)}
}

func (s *scripted) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	s.mu.Lock()
	a := s.acts[min(len(s.requests), len(s.acts)-1)]
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	return func(yield func(model.Piece, error) bool) {
		for _, p := range a.pieces {
			if a.every > 0 {
				select {
				case <-ctx.Done():
				case <-time.After(a.every):
				}
			}
			if ctx.Err() != nil {
				yield(model.Piece{}, ctx.Err())
				return
			}
			if !yield(p, nil) {
				return
			}
		}
		if a.hangs {
			<-ctx.Done()
			yield(model.Piece{}, ctx.Err())
		} else if a.fails != nil {
			yield(model.Piece{}, a.fails)
		}
	}
}

func (s *scripted) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// says returns an act that succeeds.
func says(texts ...string) act {
	a := begins(texts...)
	a.pieces = append(a.pieces, model.Piece{Stop: model.StopEnd})
	a.fails = nil
	return a
}

// begins returns an act that is cut off after the texts.
func begins(texts ...string) act {
	a := act{fails: &model.Error{Model: "?", Failure: model.Truncated}}
	for _, t := range texts {
		a.pieces = append(a.pieces, model.Piece{Text: t})
	}
	return a
}

func fails(f model.Failure) act { return act{fails: &model.Error{Model: "?", Failure: f}} }

// heard is the result of a request.
type heard struct {
	text     string // with | for Resumed
	pieces   []model.Piece
	stop     model.StopReason
	err      error
	failures []string // name>next failure
}

// failure returns the failure of the returned error.
func (h heard) failure() model.Failure {
	if e, ok := errors.AsType[*model.Error](h.err); ok {
		return e.Failure
	}
	return ""
}

func listen(ctx context.Context, c model.Chat, r model.Request) (h heard) {
	ctx = model.WithTrace(ctx, &model.Trace{Failed: func(err error, name, next string) {
		f := "?"
		if e, ok := errors.AsType[*model.Error](err); ok {
			f = string(e.Failure)
		}
		h.failures = append(h.failures, name+">"+next+" "+f)
	}})
	var b strings.Builder
	for p, err := range c.Complete(ctx, r) {
		if err != nil {
			h.err = err
			break
		}
		h.pieces = append(h.pieces, p)
		if p.Resumed {
			b.WriteString("|")
		}
		b.WriteString(p.Text)
		h.stop = p.Stop
	}
	h.text = b.String()
	return h
}

var question = model.Request{Messages: []model.Message{{Role: model.User, Text: "What is a sluice box?"}}}

func chats(ms ...*scripted) (all []model.Chat) {
	for _, m := range ms {
		all = append(all, m)
	}
	return all
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// author is a model that writes a text, continues it in a random way, and may be cut off at any byte.
type author struct {
	scripted
	whole string
	rnd   *rand.Rand
}

func (a *author) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	said := ""
	for _, m := range r.Messages {
		if m.Role == model.Assistant {
			said = m.Text
		}
	}
	text, strays := writer(a.rnd, a.whole, said)
	ends := says
	if cut := a.rnd.IntN(2*len(text) + 1); cut < len(text) && !strays {
		text, ends = strings.ToValidUTF8(text[:cut], ""), begins
	}
	a.acts = []act{ends(pieces(text, 1+a.rnd.IntN(9))...)}
	return a.scripted.Complete(ctx, r)
}
